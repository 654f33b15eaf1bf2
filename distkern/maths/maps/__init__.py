"""Maps of rows in front of a kernel: a transform of each column, then a learned metric."""
