"""Parts of SDCA: its loop over rows, and the dual variables that stay with them."""
