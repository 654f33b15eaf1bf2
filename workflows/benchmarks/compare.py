"""Held-out error against seconds and memory: every method on every data set, and at equal centres."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workflows.benchmarks.methods import Method, Settings
from workflows.benchmarks.registry import METHODS, method_of
from workflows.benchmarks.rows import Facts
from workflows.processes import question
from workflows.records import Record, Records

_CHILD = "workflows.benchmarks.child"
#: at equal centres
CENTRES = (256, 1024, 4096)
AT_CENTRES = ("newton", "svrg", "csvrg", "nystroem_linear", "normal_equations")
#: tolerances of newton besides its default
TOLERANCES = (3e-2, 3e-3)


@dataclass(frozen=True)
class Comparison:
    """The settings of a comparison.

    Attributes
    ----------
    folder : exported rows, with a folder for each data set
    threads, limit : threads and seconds of each process
    rows : most training rows, taken from the front; None for all
    adapters : paths of programs by name
    tell : receives a line when a measurement begins or is skipped
    """

    records: Records
    folder: Path
    threads: int = 1
    limit: float = 1800.0
    rows: int | None = None
    adapters: Mapping[str, str] = field(default_factory=dict)
    tell: Callable[[str], None] = print

    def methods(self, names: Sequence[str]) -> list[Method]:
        """Those of the names, or all, that are installed."""
        asked = [method_of(name, self.adapters) for name in names or [*METHODS, *self.adapters]]
        for method in asked:
            if not method.is_there:
                self.tell(f"{method.name}: skipped, {method.package} is not installed")
        return [method for method in asked if method.is_there]

    def compare(self, facts: Facts, method: Method) -> Record:
        """One method on one data set, at the settings that are best on the validation rows."""
        settings = self.settings(facts, method)
        if "failed" in settings:
            return settings
        rows = _least(self.rows, method.most_rows)
        return self._fit(f"compare/{facts.name}/{method.name}", facts, method, settings["settings"], rows)

    def settings(self, facts: Facts, method: Method) -> Record:
        """What is chosen; nothing is measured of a method with one candidate."""
        candidates = method.candidates(facts)
        if len(candidates) == 1:
            return {"settings": candidates[0]}
        rows = _least(self.rows, method.choosing_rows)
        return self._asked(
            f"choose/{facts.name}/{method.name}", facts, method, {"candidates": candidates, "rows": rows}
        )

    def at_centres(
        self, facts: Facts, centres: Sequence[int] = CENTRES, names: Sequence[str] = ()
    ) -> list[Record]:
        """The machines over the same number of landmarks, all of the width that is best for the equations;
        those of the names only, if there are any."""
        best = self.settings(facts, METHODS["normal_equations"])
        if "failed" in best:
            return [best]
        gamma, found = best["settings"]["gamma"], []
        asked = [name for name in AT_CENTRES if not names or name in names]
        for method in self.methods([name for name in asked if METHODS[name].takes(facts)]):
            chosen = self.settings(facts, method)
            if "failed" in chosen:
                continue
            own = {**chosen["settings"], "gamma": gamma}
            variants: list[tuple[str, Settings]] = [("", own)]
            if method.name == "newton":
                variants += [(f"-tol{tol:g}", {**own, "tol": tol}) for tol in TOLERANCES]
            for number in centres:
                for label, settings in variants:
                    key = f"centres/{facts.name}/{method.name}{label}-{number}"
                    given = {**settings, "n_landmarks": number}
                    found.append(self._fit(key, facts, method, given, self.rows))
        return found

    def _fit(self, key: str, facts: Facts, method: Method, settings: Settings, rows: int | None) -> Record:
        return self._asked(key, facts, method, {"settings": settings, "rows": rows})

    def _asked(self, key: str, facts: Facts, method: Method, given: dict[str, Any]) -> Record:
        asked = {
            "folder": str(self.folder / facts.name),
            "method": method.name,
            "threads": self.threads,
            "adapters": dict(self.adapters),
            **given,
        }

        def measure() -> Record:
            self.tell(f"{key} ...")
            found = question(_CHILD, asked, limit=self.limit, threads=self.threads)
            self.tell(f"  {summary(found)}")
            return found

        return self.records.measured(key, asked, measure)


def summary(found: Record) -> str:
    """A measurement in a line."""
    if "failed" in found:
        return found["failed"]
    if "errors" in found:
        return f"best of {len(found['errors'])}: {found['settings']}"
    return (
        f"error {found['error']:.4g} in {found['wall_seconds']:.1f} s, {found['cpu_seconds']:.1f} CPU s, "
        f"peak {found['peak_bytes'] / 2**20:.0f} MiB"
    )


def _least(*rows: int | None) -> int | None:
    return min((number for number in rows if number is not None), default=None)
