"""Parts of Newton's method."""
