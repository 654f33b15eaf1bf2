"""Readers of the file formats a data set is made from: one file each, found by the registry."""
