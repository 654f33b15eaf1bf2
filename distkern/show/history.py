"""The stages of a fit, as Python users see them."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from distkern.data.store.places import Location

if TYPE_CHECKING:
    from pandas import DataFrame

    from distkern.show.page import Section


#: figures that ``repr`` shows if known
_SHOWN = ("stage", "passes", "seconds", "objective", "train_error", "test_error", "model_size")


class History(list[dict[str, Any]]):
    """A list with one dict of figures per stage, as in ``metrics.jsonl``.

    ``history.to_frame()`` returns a pandas frame, and ``history.plot()`` draws the plots of the report.
    """

    def __repr__(self) -> str:
        from distkern.core.text import listed

        names = [name for name in _SHOWN if any(line.get(name) is not None for line in self)]
        rows = [[line.get(name, "") for name in names] for line in self]
        return listed(
            f"<History of {len(self)} stage{'s' * (len(self) != 1)}; .to_frame(), .plot()>", names, rows
        )

    def to_frame(self) -> DataFrame:
        """Return a pandas frame with a row per stage and a column per figure."""
        from pandas import DataFrame

        return DataFrame(list(self))

    def plot(self) -> PlotPage:
        """Plot objective, errors and other changing figures; notebooks draw them, ``save`` writes a page."""
        from distkern.show.stages import stage_plots

        return PlotPage("Stages", (stage_plots(self),) if self else (), f"{len(self)} stages")


@dataclass(frozen=True)
class PlotPage:
    """A page of plots.

    Attributes
    ----------
    title : title of the page
    sections : see :mod:`distkern.show.page`
    what : subject of the plots
    """

    title: str
    sections: tuple[Section, ...]
    what: str

    @property
    def page(self) -> str:
        """The page's HTML, which needs no network."""
        from distkern.show.page import page

        return page(self.title, self.sections)

    def _repr_html_(self) -> str:
        # an iframe isolates the page's style and scripts from the notebook's
        grown = "this.style.height = this.contentDocument.documentElement.scrollHeight + 'px'"
        style = "width: 100%; height: 30rem; border: 0"
        return f'<iframe srcdoc="{escape(self.page)}" style="{style}" onload="{grown}"></iframe>'

    def __repr__(self) -> str:
        return f"<Figures of {self.what}: a notebook draws them, .save(path) writes a page>"

    def save(self, path: Location) -> None:
        """Write the page."""
        from distkern.data.store.atomic import write_text_atomic

        write_text_atomic(path, self.page)
