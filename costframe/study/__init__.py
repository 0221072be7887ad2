"""Studies: fits of algorithms at many tradeoffs on the same rows, and the points of cost and score that they give."""
