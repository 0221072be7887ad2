"""One tree: histograms, splits at prices, partitions."""
