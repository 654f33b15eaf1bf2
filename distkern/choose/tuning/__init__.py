"""Hyperparameter search: candidates, trials on held-out rows, and records that survive a kill."""
