"""What benchmarks share: tables and their splits, points of cost and score, sides to compare, times and pictures."""
