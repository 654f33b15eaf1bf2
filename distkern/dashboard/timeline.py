"""Rates over a run of any length in a fixed number of buckets."""

from __future__ import annotations

#: buckets of a timeline; when a run outgrows them, neighbours are merged
BUCKETS = 400
#: width of a bucket at the start, in seconds
FIRST_WIDTH = 0.5


class Timeline:
    """Amounts of several quantities by time since the start, in at most :data:`BUCKETS` buckets.

    Parameters
    ----------
    quantities : how many numbers are added at a time
    """

    def __init__(self, quantities: int) -> None:
        self.width = FIRST_WIDTH
        self._sums: list[list[float]] = [[] for _ in range(quantities)]

    def add(self, start: float, end: float, *amounts: float) -> None:
        """Spread the amounts evenly over the seconds from ``start`` to ``end`` (since the run's start)."""
        start, end = max(start, 0.0), max(end, 0.0)
        while end >= self.width * BUCKETS:
            self._merge()
        first, last = int(start / self.width), int(end / self.width)
        for sums, amount in zip(self._sums, amounts, strict=True):
            sums.extend([0.0] * (last + 1 - len(sums)))
            if first >= last:
                sums[last] += amount
                continue
            for bucket in range(first, last + 1):
                covered = min(end, (bucket + 1) * self.width) - max(start, bucket * self.width)
                sums[bucket] += amount * covered / (end - start)

    def rates(self, quantity: int) -> tuple[list[float], list[float]]:
        """Middles of the buckets in seconds, and the quantity's amount a second in each.

        The last bucket is left out until it is full, for its rate would be too low.
        """
        sums = self._sums[quantity]
        if len(sums) < 2:
            return [], []
        times = [(bucket + 0.5) * self.width for bucket in range(len(sums) - 1)]
        return times, [amount / self.width for amount in sums[:-1]]

    def _merge(self) -> None:
        self.width *= 2
        self._sums = [
            [sum(sums[bucket : bucket + 2]) for bucket in range(0, len(sums), 2)] for sums in self._sums
        ]
