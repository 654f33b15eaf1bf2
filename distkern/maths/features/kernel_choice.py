"""A kernel whose width may depend on the data, and the passes that compute it."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from distkern.core.choices import Choices
from distkern.core.errors import InputError
from distkern.core.parameters import POSITIVE, AbstractKind, Parameter, Words
from distkern.core.registry import Family
from distkern.maths.kernels.base import AbstractKernel, AbstractScaledKernel

if TYPE_CHECKING:
    from distkern.core.types import Block
    from distkern.maths.kernels.bandwidth import Moments
    from distkern.maths.landmarks.base import RowLayout
    from distkern.passes import Outline, Pass, Reduce


#: most bytes of the sample for "median"; a median of pairs needs no more
_SAMPLE_BYTES = 16 * 2**20
_SAMPLE_ROWS = 4000
_LEAST_SAMPLE = 64


@dataclass(frozen=True)
class WidthRule(AbstractKind):
    """The rules for gamma, optionally with a divisor of the width."""

    annotation = "str"

    def accepts(self, value: Any) -> bool:
        if not isinstance(value, str):
            return False
        from distkern.maths.kernels.bandwidth import parse_rule

        try:
            parse_rule(value)
        except InputError:
            return False
        return True

    @property
    def description(self) -> str:
        return ", ".join(map(repr, self.words)) + " or one with a divisor of the width ('median/4')"

    @property
    def words(self) -> tuple[str, ...]:
        from distkern.maths.kernels.bandwidth import RULES

        return RULES


GAMMA = Parameter(
    "scale",
    (POSITIVE, WidthRule()),
    "width parameter of the kernel: a number, or a rule that computes it from the rows",
    tried=Choices("median", ("median/0.5", "median/2", "median/4", "median/8")),
)


def a_kernel(kernels: Family[AbstractKernel]) -> Parameter:
    """Declare ``kernel``, one of the given kernels."""
    return Parameter("rbf", (Words(of=kernels),), "the kernel")


@dataclass(frozen=True)
class KernelChoice:
    """A kernel whose gamma may depend on the data."""

    kind: type[AbstractKernel]
    gamma: float | str
    parameters: dict[str, Any] = field(default_factory=dict)

    @property
    def has_gamma(self) -> bool:
        """Whether the kernel has a gamma."""
        return issubclass(self.kind, AbstractScaledKernel)

    def is_compiled(self, layout: RowLayout) -> bool:
        """Whether compiled loops compare these rows with landmarks."""
        return self.kind.is_compiled or layout.is_sparse

    def with_gamma(self, gamma: float) -> AbstractKernel:
        """The kernel with this gamma, if it has one."""
        if self.has_gamma:
            return self.kind.from_parameters(gamma=gamma, **self.parameters)
        return self.kind.from_parameters(**self.parameters)

    def choose_gamma(self, layout: RowLayout) -> Generator[Pass, Any, float]:
        """Return gamma, from a pass over the data if it is a rule; 1 for a kernel without gamma.

        "scale" uses the weighted moments of all rows, "median" a sample.
        """
        from distkern.maths.kernels.bandwidth import gamma_from_width, median_width, parse_rule, scale_width
        from distkern.maths.landmarks.base import sample_rows

        if not self.has_gamma:
            return 1.0
        if not isinstance(self.gamma, str):
            return float(self.gamma)
        if parse_rule(self.gamma)[0] == "scale":
            found: Moments = yield _moments_pass(layout)
            width = scale_width(found, layout.n_features)
        else:
            width = median_width((yield from sample_rows(layout, _sample_size(layout), "width")))
        return gamma_from_width(self.gamma, self.kind, width, layout.n_features)

    def outline(self, layout: RowLayout) -> list[Outline]:
        """The passes of :meth:`choose_gamma`."""
        from distkern.maths.kernels.bandwidth import STRIP_ENTRIES, parse_rule
        from distkern.maths.landmarks.base import sample_outline
        from distkern.passes import Outline

        if not (self.has_gamma and isinstance(self.gamma, str)):
            return []
        if parse_rule(self.gamma)[0] == "scale":
            return [Outline(_moments_pass(layout))]
        pairs_bytes = 6 * 8 * max(STRIP_ENTRIES, layout.n_features)
        return [sample_outline(layout, _sample_size(layout), "width", pairs_bytes)]


def _sample_size(layout: RowLayout) -> int:
    return min(max(_SAMPLE_BYTES // layout.row_bytes, _LEAST_SAMPLE), _SAMPLE_ROWS)


def _moments_pass(layout: RowLayout) -> Reduce[Moments]:
    from distkern.maths.kernels.bandwidth import STRIP_ENTRIES, merged_moments
    from distkern.passes import Cost, Reduce

    strip = {"a strip and its temporaries": (6, max(STRIP_ENTRIES, layout.n_features), 8)}
    cost = Cost().holding(task=strip, result={"moments": (3, 8)})
    return Reduce("width", _moments_of, merged_moments, cost=cost)


def _moments_of(block: Block, _: None) -> Moments:
    from distkern.maths.kernels.bandwidth import moments

    return moments(block.features, block.weights)
