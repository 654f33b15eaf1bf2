"""Parts of SVRG: its features, its snapshots, its inner loop and its preconditioner."""
