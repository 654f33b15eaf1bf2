"""Data sets, models and predictions on disk: the only package that knows zarr. See FORMAT.md."""
