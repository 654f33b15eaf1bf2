"""Bases: the functions a model is a combination of."""

from distkern.bases.base import AbstractBasis, Tile, multiply
from distkern.bases.landmarks import LandmarkBasis

__all__ = ["AbstractBasis", "LandmarkBasis", "Tile", "multiply"]
