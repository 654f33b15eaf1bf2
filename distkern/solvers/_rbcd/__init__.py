"""Parts of RBCD: its blocks of coefficients and what stays with the rows."""
