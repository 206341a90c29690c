"""What outlive costs, against floors measured in the same run and against its peers: `python -m
benchmarks`.
"""
