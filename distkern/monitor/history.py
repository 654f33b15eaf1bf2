"""The stages of a fit, as one looks at them in Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from distkern.storage.places import Location

_STYLE = """
.distkern-figures { display: flex; flex-wrap: wrap; gap: 1rem; }
.distkern-figures svg { width: 26rem; max-width: 100%; height: auto; }
.distkern-figures svg text { font: 12px sans-serif; fill: #818b95; }
.distkern-figures svg .title { font-weight: 600; }
.distkern-figures svg .grid { stroke: #88919b; stroke-opacity: .35; }
"""


class History(list[dict[str, Any]]):
    """A list of lines of figures, one dict for each stage: those of ``metrics.jsonl``.

    ``history.to_frame()`` is a frame of pandas, ``history.plot()`` what the report draws of it.
    """

    def to_frame(self) -> Any:
        """A frame of pandas with a row for each stage and a column for each figure that any of them has."""
        from pandas import DataFrame

        return DataFrame(list(self))

    def plot(self) -> Figures:
        """Objective, errors and what else changes: drawn in a notebook, or to be written with ``save``."""
        from distkern.monitor.stages import stage_figures

        return Figures(stage_figures(self) if self else "", len(self))


@dataclass(frozen=True)
class Figures:
    """Plots as SVG.

    Attributes
    ----------
    svg : one after the other
    n_stages : that they are of
    """

    svg: str
    n_stages: int

    def _repr_html_(self) -> str:
        return f'<style>{_STYLE}</style><div class="distkern-figures">{self.svg}</div>'

    def __repr__(self) -> str:
        return f"<Figures of {self.n_stages} stages: a notebook draws them, .save(path) writes a page>"

    def save(self, path: Location) -> None:
        """Write a page that needs nothing else."""
        from distkern.monitor.report import whole_page
        from distkern.storage.atomic import write_text_atomic

        write_text_atomic(path, whole_page("Stages", [f'<div class="figures">{self.svg}</div>']))
