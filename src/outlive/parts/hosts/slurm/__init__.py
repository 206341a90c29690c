"""Jobs in the allocations of a Slurm cluster (sbatch(1)), on a file system that its nodes share."""
