"""Places, atomic writes and arrays on disk: the only package that knows zarr."""
