"""How many rows each candidate is tried on, and how many go on to more."""

from __future__ import annotations

from dataclasses import dataclass

#: rows below which a first rung is not worth it: errors of so few say little
LEAST_ROWS = 500


@dataclass(frozen=True)
class Rung:
    """So many candidates learn from a share of the rows that are not held out."""

    n_candidates: int
    share: float


def rungs_of(method: str, n_candidates: int, n_rows: int, factor: int = 3) -> list[Rung]:
    """All candidates on all rows, or by successive halving (Jamieson and Talwalkar 2016, Algorithm 1).

    From rung to rung a ``factor``-th of the candidates goes on, to ``factor`` times the rows. The resource is
    rows, as in scikit-learn's HalvingGridSearchCV, so that any algorithm can be tried, also one that does not
    go on from a model; unlike there the last rung has more than one candidate, because one alone needs no
    trial. There are as many rungs as leave the first one 500 rows.

    >>> rungs_of("halving", 9, 9000)
    [Rung(n_candidates=9, share=0.3333333333333333), Rung(n_candidates=3, share=1.0)]
    >>> rungs_of("grid", 9, 9000)
    [Rung(n_candidates=9, share=1.0)]
    """
    counts = [n_candidates]
    while method == "halving" and counts[-1] > factor:
        counts.append(-(-counts[-1] // factor))
    n_rungs = len(counts)
    while n_rungs > 1 and n_rows < LEAST_ROWS * factor ** (n_rungs - 1):
        n_rungs -= 1
    return [Rung(count, float(factor) ** (at + 1 - n_rungs)) for at, count in enumerate(counts[:n_rungs])]
