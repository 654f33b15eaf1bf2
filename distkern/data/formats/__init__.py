"""Readers of the input file formats: one file each, found by the registry."""
