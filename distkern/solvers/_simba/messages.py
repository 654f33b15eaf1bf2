"""Messages between the driver of SIMBA and the residents of its rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.held_out import Sides, keys_of
from distkern.core.rng import Purpose, stream
from distkern.core.sparse import Rows
from distkern.core.types import Block
from distkern.solvers._simba.loops import Drawn
from distkern.solvers.risk import Risk

#: bins of a histogram of keys, and most candidates to sort
N_BINS = 1024
#: first index of the stream that draws held-out rows
_ORDER = 7
MOST_CANDIDATES = 2048

#: units of a weight of 1
UNIT = 2.0**20

#: kinds of requests for an output in a :class:`Select`
IDLE, COUNT, GATHER, TIES = 0, 1, 2, 3


@dataclass(frozen=True)
class Slacks:
    """The rows with slack: 2 before a place in the order (key falling, group, row), the remainder at it.

    Attributes
    ----------
    keys, groups : (n_outputs,) int64 of the row at the place; keys are the bits of q
    lefts : (n_outputs,) total weight, in units, of the rows with slack that have this key and group; the row
        at the place counts in part
    """

    keys: NDArray[np.int64]
    groups: NDArray[np.int64]
    lefts: NDArray[np.float64]


@dataclass(frozen=True)
class Update:
    """The multiplicative update of q in round t.

    Attributes
    ----------
    columns : (n_columns,) int64
    coefficients : (n_outputs, n_columns): <w, x> is estimated by their product with x's columns
    b : (n_outputs,)
    eta : step size
    factors : (n_outputs,) powers of two that multiply q before the update, or None
    slacks : new ones, or None to keep the current ones
    """

    columns: NDArray[np.int64]
    coefficients: NDArray[np.float64]
    b: NDArray[np.float64]
    eta: float
    factors: NDArray[np.float64] | None
    slacks: Slacks | None

    def by_column(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The distinct columns and their summed coefficients."""
        if len(set(self.columns.tolist())) == len(self.columns):
            return self.columns, self.coefficients
        once, places = np.unique(self.columns, return_inverse=True)
        together = np.zeros((len(self.coefficients), len(once)))
        np.add.at(together.T, places, self.coefficients.T)
        return once, together


@dataclass(frozen=True)
class RoundMessage:
    """A round: an optional update, then an optional draw of the rows of round ``draw_for``."""

    update: Update | None
    draw_for: int | None


@dataclass(frozen=True)
class Answer:
    """The answer of some groups, in order, to a :class:`RoundMessage`.

    Attributes
    ----------
    drawn : sums of q and, with an intercept, of q y by groups; the winners of an exponential race among them
    entries : numbers read from columns
    rows : the rows drawn from the winners; None if all q are 0
    """

    drawn: Drawn
    entries: int
    rows: tuple[Rows | None, ...]

    def joined(self, other: Answer) -> Answer:
        """Both answers as one; ``other`` is from later groups."""
        later = other.drawn.keys < self.drawn.keys
        rows = tuple(
            theirs if wins else own for own, theirs, wins in zip(self.rows, other.rows, later, strict=True)
        )
        return Answer(self.drawn.joined(other.drawn), self.entries + other.entries, rows)


@dataclass(frozen=True)
class Select:
    """A request about the keys of rows for each output.

    Attributes
    ----------
    modes : (n_outputs,) int8: COUNT keys in bins of 2^shift from ``lows`` on; GATHER the keys of the first
        bin; count the TIES with ``lows`` in each group; or IDLE
    lows, shifts : (n_outputs,) int64
    """

    modes: NDArray[np.int8]
    lows: NDArray[np.int64]
    shifts: NDArray[np.int64]


@dataclass(frozen=True)
class Selected:
    """The answer of some groups, in order, to a :class:`Select`.

    Attributes
    ----------
    above : (n_outputs,) weight, in units, of the rows with keys above all bins
    counts, units : (n_outputs, N_BINS) number and weight of the rows in a bin
    ties : (n_groups, n_outputs) their weights
    candidates : (n, 5) int64: output, key, group, row, units
    """

    above: NDArray[np.int64]
    counts: NDArray[np.int64]
    units: NDArray[np.int64]
    ties: NDArray[np.int64]
    candidates: NDArray[np.int64]

    def joined(self, other: Selected) -> Selected:
        """Both answers as one; ``other`` is from later groups."""
        return Selected(
            self.above + other.above,
            self.counts + other.counts,
            self.units + other.units,
            np.concatenate([self.ties, other.ties]),
            np.concatenate([self.candidates, other.candidates]),
        )


def in_units(risk: Risk, block: Block) -> NDArray[np.int64]:
    """(n_rows,) weights of mean 1 in whole units, whose sums are exact; only 0 becomes 0."""
    weights = risk.weights(block)
    if weights is None:
        return np.full(block.n_rows, int(UNIT))
    return np.where(weights > 0, np.maximum(np.rint(weights * UNIT), 1.0), 0.0).astype(np.int64)


def join(first: Any, second: Any) -> Any:
    """Join two answers to the same message, of earlier and later groups."""
    return first.joined(second)


@dataclass(frozen=True)
class HoldOut:
    """The held-out training rows: a share of them, drawn by their keys, so that rows of one group, and equal
    rows, stay together.

    Attributes
    ----------
    fraction : share of the rows; 0 holds out none
    seed, draw : seeds of the draw
    """

    fraction: float
    seed: int
    draw: int = 0

    def mask(self, block: Block) -> NDArray[np.bool_]:
        """(n_rows,): True for held-out rows."""
        if not self.fraction:
            return np.zeros(block.n_rows, dtype=bool)
        # a search may have used the seed to hold out rows
        seed = int(stream(self.seed, Purpose.VALIDATION, _ORDER, self.draw).integers(2**62))
        held: NDArray[np.bool_] = Sides((self.fraction,), seed).of(keys_of(block)) == 0
        return held


def shifted(slacks: Slacks, factors: NDArray[np.float64]) -> Slacks:
    """Return the slacks after q was multiplied by a power of two for each output, (n_outputs,).

    Their rows stay. Only the keys change, which are the bits of q.
    """
    _, exponents = np.frexp(factors)
    return replace(slacks, keys=slacks.keys + ((exponents.astype(np.int64) - 1) << 52))
