#!/bin/sh
# What Slurm runs for every job: the interpreter, the job root and the id are arguments.
exec "$1" -EP -m outlive.hosts.slurm.inside_allocation "$2" "$3"
