"""Training on a dask cluster: every worker trains on the partitions that it holds, and all get the same model."""
