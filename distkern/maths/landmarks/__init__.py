"""Rules that choose landmarks: one file each, found by name."""

from distkern.core.registry import Family
from distkern.maths.landmarks.base import AbstractLandmarkRule, gather_rows, sample_rows

__all__ = ["LANDMARK_RULES", "AbstractLandmarkRule", "find_landmark_rule", "gather_rows", "sample_rows"]

LANDMARK_RULES = Family("distkern.maths.landmarks", AbstractLandmarkRule)  # type: ignore[type-abstract]
#: the rule called so
find_landmark_rule = LANDMARK_RULES.find
