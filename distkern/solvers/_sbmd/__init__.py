"""Parts of SBMD: its steps in blocks of coefficients."""
