"""`mtcluster fit` and `mtcluster predict` for files that are larger than memory.

Rows are read piece by piece, by Dask's threads in this process or by the workers of a cluster; only samples and sums
come together in one place.
"""
