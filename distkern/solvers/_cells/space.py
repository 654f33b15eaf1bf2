"""Where settings are searched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from distkern.losses.conjugate import AbstractDualLoss
from distkern.maps.mapping import MapChoice
from distkern.maps.metric import MetricKind
from distkern.maps.transform import TransformKind
from distkern.solvers._cells.trials import KernelSpec, Setting

#: exp(-|x - y| / b), the Laplacian of the Euclidean distance, is the Matern kernel of smoothness 1/2
KERNELS = (KernelSpec("matern", (("smoothness", 0.5),)), KernelSpec("laplacian"), KernelSpec("rbf"))


@dataclass(frozen=True)
class Space:
    """Where to search; a single value is given and not searched."""

    maps: tuple[MapChoice, ...]
    kernels: tuple[KernelSpec, ...] = KERNELS
    widths: tuple[float, ...] = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
    costs: tuple[float, ...] = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0)

    @property
    def has_metrics(self) -> bool:
        """Whether any is tried."""
        return any(choice.metric != "none" for choice in self.maps)

    @property
    def largest_map(self) -> MapChoice:
        """One of those that take the most memory."""
        return max(
            self.maps, key=lambda choice: (choice.is_full, choice.metric != "none", choice.has_quantiles)
        )

    @property
    def plain(self) -> Setting:
        """What the best is compared with."""
        return Setting(MapChoice(), self.kernels[0], _middle(self.widths), _middle(self.costs))


def maps_of(
    transforms: Sequence[TransformKind] = ("none", "standard", "normal", "ranks"),
    metrics: Sequence[tuple[MetricKind, int]] = (("none", 1), ("diagonal", 3), ("full", 1)),
) -> tuple[MapChoice, ...]:
    """All pairs of a transform and a (metric, rounds)."""
    return tuple(MapChoice(transform, kind, rounds) for transform in transforms for kind, rounds in metrics)


def quick_maps() -> tuple[MapChoice, ...]:
    """Few of them."""
    return maps_of(("none", "standard"), (("none", 1), ("diagonal", 3)))


def costs_of(loss: AbstractDualLoss) -> tuple[float, ...]:
    """The range of C: of a quadratic loss it is the reciprocal of the ridge."""
    return (1.0, 10.0, 100.0, 1e3, 1e4, 1e5) if loss.is_quadratic else Space.costs


def _middle(values: Sequence[float]) -> float:
    return values[len(values) // 2]
