"""Solvers: mathematics only, one algorithm a file; they yield passes and are sent their results."""
