"""How long a run has still to go: what is planned of it, at the speed that it has had so far."""

from __future__ import annotations

from collections.abc import Sequence

#: of what is planned that must be done before its speed says more than the plan
_LEARNED = 0.02


class Ahead:
    """Seconds that are left of the passes that were planned.

    With P planned seconds of all passes and D of what is done of them, in T seconds, (P - D) T / D are left;
    (P - D) before a fiftieth is done.

    Parameters
    ----------
    passes : name, how often it is made, and the seconds that it was predicted to take each time
    """

    def __init__(self, passes: Sequence[tuple[str, float, float]]) -> None:
        self._times: dict[str, float] = {}
        self._each: dict[str, float] = {}
        for name, times, seconds in passes:
            self._times[name] = self._times.get(name, 0.0) + times
            self._each[name] = max(seconds, self._each.get(name, 0.0))
        self._total = sum(self._each[name] * times for name, times in self._times.items())
        self._done, self._began = 0.0, 0.0
        self._under_way = ("", 0.0)

    def begin(self, name: str, at: float) -> None:
        """A pass begins, at a time in seconds."""
        self._began = self._began or at
        self._under_way = (name, 0.0)

    def go_on(self, share: float) -> None:
        """That share of the pass under way is done."""
        self._under_way = (self._under_way[0], share)

    def end(self) -> None:
        """The pass under way is done; those beyond what was planned are not of it."""
        name = self._under_way[0]
        if self._times.get(name, 0.0) > 0:
            self._done += self._each[name] * min(1.0, self._times[name])
            self._times[name] -= 1.0
        self._under_way = ("", 0.0)

    def left(self, at: float) -> float:
        """Seconds, at that time."""
        name, share = self._under_way
        done = self._done + share * self._each.get(name, 0.0) * min(1.0, max(0.0, self._times.get(name, 0.0)))
        pace = (at - self._began) / done if done > _LEARNED * self._total else 1.0
        return max(0.0, self._total - done) * pace
