"""The page as a Bokeh document, updated twice a second."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bokeh.models import CustomJS, InlineStyleSheet
from bokeh.models.widgets import Div, RadioButtonGroup, Select

from distkern.show.live import fragments
from distkern.show.live.history import ClusterView, NewestRun, RunHistory
from distkern.show.plots import DRESSING, Figure
from distkern.show.style import ELEMENTS, FONT, VARIABLES

#: style of the parts in HTML; each is a shadow tree that inherits only variables
PART = f"""
:host {{ display: block; width: 100%; margin: 0; font: 15px/1.5 {FONT}; color: var(--ink); }}
:host > div {{ width: 100%; }}
{ELEMENTS}
"""

#: style of buttons and menus
CONTROL = f"""
:host {{ font: 13px/1.4 {FONT}; color: var(--quiet); margin: 0 .8rem .2rem 0; }}
label {{ color: var(--quiet); font-size: 13px; }}
select.bk-input, .bk-btn {{ color: var(--ink) !important; background-color: var(--paper) !important;
  border-color: var(--rule) !important; font-size: 13px !important; }}
/* the browser's arrow has the colour of the text; Bokeh's is dark on any paper */
select.bk-input {{ appearance: auto !important; background-image: none !important; }}
.bk-btn.bk-active {{ border-color: var(--bar) !important; box-shadow: inset 0 -2px var(--bar) !important; }}
"""


TEMPLATE = (
    """
{% block title %}distkern{% endblock %}
{% block postamble %}
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
"""
    + VARIABLES
    + f"""
* {{ box-sizing: border-box; }}
html, body {{ height: auto; }}
body {{ margin: 0 auto; max-width: 88rem; padding: 1rem 1.2rem 2rem; color: var(--ink);
  background: var(--paper); font: 15px/1.5 {FONT}; }}
header {{ display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 1rem;
  border-bottom: 1px solid var(--rule); padding-bottom: .5rem; margin-bottom: 1rem; }}
header h1 {{ font-size: 1.35rem; margin: 0; }} header .grow {{ flex: 1 1 14rem; min-width: 0; }}
header a {{ color: var(--bar); }}
.figures {{ display: grid; gap: .6rem 1rem;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 21rem), 1fr)); }}
.controls {{ display: flex; flex-wrap: wrap; align-items: end; margin: .8rem 0 .4rem; }}
main > *, .figures > * {{ min-width: 0; }}
#gone {{ display: none; color: var(--warn); }}
body.gone #gone {{ display: inline; }} body.gone main {{ opacity: .55; }}
@media (max-width: 760px) {{ body {{ padding: .8rem; }} }}
</style>
"""
    + """
{% endblock %}
{% block contents %}
<header><h1>distkern</h1><div class="grow">{{ embed(roots.cluster) }}</div>
<span id="gone">The connection to the scheduler is lost; these are the last known figures.</span>
<a href="status">Dask's dashboard</a></header>
<main>
<div>{{ embed(roots.now) }}</div>
<div class="controls">{{ embed(roots.over) }}{{ embed(roots.quantity) }}</div>
<div class="figures">
<div>{{ embed(roots.objective) }}</div><div>{{ embed(roots.error) }}</div>
<div>{{ embed(roots.other) }}</div><div>{{ embed(roots.memory) }}</div>
</div>
<div>{{ embed(roots.legend) }}</div>
<div>{{ embed(roots.time) }}</div>
<div>{{ embed(roots.events) }}</div>
</main>
"""
    + DRESSING
    + """
{% endblock %}
"""
)


#: milliseconds between two updates
INTERVAL = 500


def open_page(newest: NewestRun, cluster: Callable[[], ClusterView], document: Any) -> None:
    """Fill a browser's new document."""
    page = Page(newest, cluster, document)
    page.update()
    document.add_periodic_callback(page.update, INTERVAL)


class Page:
    """One document, which shows the newest run."""

    def __init__(self, newest: NewestRun, cluster: Callable[[], ClusterView], document: Any) -> None:
        self._newest, self._cluster, self._document = newest, cluster, document
        sheet = InlineStyleSheet(css=PART)
        control = InlineStyleSheet(css=CONTROL)
        self._parts = {
            name: Div(name=name, text="", stylesheets=[sheet], sizing_mode="stretch_width")
            for name in ("cluster", "now", "legend", "time", "events")
        }
        self._over = RadioButtonGroup(
            name="over",
            labels=[f"over {name}" for name in fragments.POSITIONS],
            active=0,
            stylesheets=[control],
        )
        self._quantity = Select(
            name="quantity",
            options=list[Any](["model_size"]),
            value="model_size",
            stylesheets=[control],
            width=210,
        )
        for widget, name in ((self._over, "active"), (self._quantity, "value")):
            widget.on_change(name, self._changed)
        drawn = fragments.plots(None, "passes", "model_size")
        self._figures = {name: Figure(plot) for name, plot in drawn.items()}
        for name, shown in self._figures.items():
            shown.figure.name = name
        # avoids a search of the document after each of hundreds of changes, about a second
        with document.models.freeze():
            for root in (*self._parts.values(), self._over, self._quantity):
                document.add_root(root)
            for shown in self._figures.values():
                document.add_root(shown.figure)
        document.title = "distkern"
        document.template = TEMPLATE
        document.js_on_event("connection_lost", CustomJS(code='document.body.classList.add("gone");'))
        document.js_on_event("client_reconnected", CustomJS(code='document.body.classList.remove("gone");'))

    def _changed(self, attribute: str, old: Any, new: Any) -> None:
        self.update()

    def update(self) -> None:
        """Show the changes since the last call."""
        with self._document.models.freeze():
            self._show()

    def _show(self) -> None:
        run = self._newest.history
        self._show_figures(run)
        texts = {
            "cluster": fragments.cluster_line(self._cluster()),
            "now": fragments.now(run),
            "legend": fragments.legend(run),
            "time": fragments.where_time_went(run),
            "events": fragments.events(run),
        }
        for name, text in texts.items():
            if self._parts[name].text != text:
                self._parts[name].text = text

    def _show_figures(self, run: RunHistory | None) -> None:
        over = list(fragments.POSITIONS)[self._over.active or 0]
        options = [(name, name.replace("_", " ")) for name in fragments.quantities(run)]
        if options != self._quantity.options:
            self._quantity.update(options=options)
        quantity = self._quantity.value
        if quantity not in dict(options):
            quantity = self._quantity.value = options[0][0]
        for name, plot in fragments.plots(run, over, quantity).items():
            self._figures[name].show(plot)
