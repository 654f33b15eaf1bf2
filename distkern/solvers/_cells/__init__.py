"""Parts of the exact machines in cells: the solvers of one cell, metric, transform, partition and search."""
