"""Parts of the exact machines in cells: the solvers of one cell, places, half spaces and search."""
