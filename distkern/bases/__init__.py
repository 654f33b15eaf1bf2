"""Bases: the functions that a model combines."""

from distkern.bases.base import AbstractBasis, Tile, multiply
from distkern.bases.landmarks import LandmarkBasis
from distkern.bases.nystroem import NystroemBasis
from distkern.bases.random_features import RandomFeatureBasis

__all__ = ["AbstractBasis", "LandmarkBasis", "NystroemBasis", "RandomFeatureBasis", "Tile", "multiply"]
