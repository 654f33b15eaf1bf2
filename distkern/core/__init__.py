"""Types, errors, registries and random streams that every other package may import."""
