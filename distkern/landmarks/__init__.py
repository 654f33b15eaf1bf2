"""Rules that choose landmarks: one file each, found by name."""

from distkern.landmarks.base import AbstractLandmarkRule, gather_rows, sample_rows

__all__ = ["AbstractLandmarkRule", "find_landmark_rule", "gather_rows", "landmark_rule_names", "sample_rows"]


def find_landmark_rule(name: str) -> type[AbstractLandmarkRule]:
    """The rule called ``name``; :class:`~distkern.common.errors.InputError` if there is none."""
    from distkern.common.registry import find

    return find("distkern.landmarks", AbstractLandmarkRule, name)  # type: ignore[type-abstract]


def landmark_rule_names() -> list[str]:
    """Names of all rules."""
    from distkern.common.registry import members

    return list(members("distkern.landmarks", AbstractLandmarkRule))  # type: ignore[type-abstract]
