"""How far predicted seconds were off on this machine: that corrects the next ones, and is told with them."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from distkern.engine.events import Event
from distkern.engine.rates import Rates
from distkern.storage.atomic import write_text_atomic

_KEPT_RUNS = 20
#: changes where plans count other work, or another file is written: older runs say nothing of these
_PLANS = 4
#: predicted seconds of which what they took says as much as that nothing is known
_CERTAIN = 1.0


class PassSeconds(dict[str, float]):
    """A listener that adds up the seconds of the passes of a run, by their names."""

    def __call__(self, event: Event) -> None:
        if event.kind == "pass_finished":
            self[event["name"]] = self.get(event["name"], 0.0) + event["seconds"]


@dataclass
class Experience:
    """The rates of this machine, and how long past runs took beside what these had said.

    Attributes
    ----------
    file : where both are kept; nothing is lost if it cannot be written
    rates : of this machine
    runs : algorithm and kind of machine, and with a pass's name that pass alone -> (seconds by the rates,
        measured seconds) of the last runs
    """

    file: Path
    rates: Rates
    runs: dict[str, list[tuple[float, float]]]

    @classmethod
    def of_this_machine(cls) -> Experience:
        """What is kept in DISTKERN_CACHE (``~/.cache/distkern``), or new rates if nothing is."""
        base = os.environ.get("DISTKERN_CACHE") or Path.home() / ".cache" / "distkern"
        file = Path(base) / f"rates-{_PLANS}-{platform.node() or 'here'}-{os.cpu_count()}.json"
        with suppress(OSError, ValueError, TypeError, KeyError):
            kept = json.loads(file.read_text())
            runs = {
                str(key): [(float(by_rates), float(measured)) for by_rates, measured in pairs]
                for key, pairs in kept["runs"].items()
            }
            return cls(file, Rates(**{name: float(value) for name, value in kept["rates"].items()}), runs)
        found = cls(file, Rates.measure(), {})
        found._keep()
        return found

    def seen(self, *of: str) -> list[float]:
        """Measured seconds by those of the rates, of past runs of an algorithm on a kind of machine."""
        return [measured / by_rates for by_rates, measured in self.runs.get(" ".join(of), [])]

    def factor(self, *of: str) -> float:
        """What the rates' seconds of a pass are multiplied by.

        The median of what past ones took, m, to the power s / (s + 1), s the seconds that the rates had said
        of them: of a short pass what is taken once weighs most, which a longer one does not have more of.
        """
        said = sum(by_rates for by_rates, _ in self.runs.get(" ".join(of), []))
        return float(median(self.seen(*of)) ** (said / (said + _CERTAIN))) if said else 1.0

    def add(self, of: tuple[str, str], by_rates: Mapping[str, float], measured: Mapping[str, float]) -> None:
        """Keep what the passes of a run took, by their names, and all of them."""
        both = {name: (by_rates[name], measured[name]) for name in by_rates if measured.get(name, 0.0) > 0}
        for name, pair in both.items():
            if pair[0] > 0:
                self._append(" ".join((*of, name)), pair)
        said, took = (sum(column) for column in zip(*both.values(), strict=True)) if both else (0.0, 0.0)
        if said > 0:
            self._append(" ".join(of), (said, took))
        self._keep()

    def _append(self, key: str, pair: tuple[float, float]) -> None:
        self.runs[key] = [*self.runs.get(key, []), pair][-_KEPT_RUNS:]

    def _keep(self) -> None:
        kept: dict[str, Any] = {"rates": asdict(self.rates), "runs": self.runs}
        # a home that is read-only or full changes no run
        with suppress(Exception):
            self.file.parent.mkdir(parents=True, exist_ok=True)
            write_text_atomic(self.file, json.dumps(kept) + "\n")
