"""Bases: the functions that a model combines."""

from distkern.maths.bases.base import AbstractBasis, Tile, multiply
from distkern.maths.bases.landmarks import LandmarkBasis
from distkern.maths.bases.nystroem import NystroemBasis
from distkern.maths.bases.random_features import RandomFeatureBasis

__all__ = ["AbstractBasis", "LandmarkBasis", "NystroemBasis", "RandomFeatureBasis", "Tile", "multiply"]
