"""Listeners that show a run: the terminal, the metrics file and the report."""
