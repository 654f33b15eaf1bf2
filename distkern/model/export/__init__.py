"""Models in other formats, for serving without this package."""
