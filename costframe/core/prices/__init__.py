"""What features and resources cost: the cost model, its files, and arrays for kernels."""
