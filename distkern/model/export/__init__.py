"""Models in formats of others, for serving without this package."""
