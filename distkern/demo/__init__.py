"""The data of ``distkern demo``."""
