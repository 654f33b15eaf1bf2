"""Bases: the functions that a model combines."""
