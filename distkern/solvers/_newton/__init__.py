"""Parts of Newton's method: its line search."""
