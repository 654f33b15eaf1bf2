"""The page as a Bokeh document: it looks at the histories twice a second and shows what changed."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from bokeh.models import CustomJS, InlineStyleSheet
from bokeh.models.widgets import CheckboxGroup, Div, RadioButtonGroup, Select

from distkern.dashboard import fragments
from distkern.dashboard.history import ClusterView, Histories, RunHistory
from distkern.monitor.plots import Figure
from distkern.monitor.style import ELEMENTS, FONT, RUNS, VARIABLES

#: of every part that is HTML (each lives in a tree of its own and inherits only the variables)
PART = f"""
:host {{ display: block; width: 100%; margin: 0; font: 15px/1.5 {FONT}; color: var(--ink); }}
:host > div {{ width: 100%; }}
{ELEMENTS}
"""

#: of the list of runs
LIST = f"""
:host {{ display: block; width: 100%; margin: 0; font: 14px/1.4 {FONT}; color: var(--ink); }}
.bk-input-group {{ width: 100%; }}
label {{ display: flex !important; align-items: flex-start; padding: .45rem .5rem;
  margin: 0 0 .35rem !important; width: 100%; border: 1px solid var(--rule); border-radius: .4rem;
  cursor: pointer; }}
label span {{ white-space: pre-line; overflow-wrap: anywhere; min-width: 0; }}
label input {{ margin: .2rem .5rem 0 0; flex: none; }}
"""

#: of buttons and menus
CONTROL = f"""
:host {{ font: 13px/1.4 {FONT}; color: var(--quiet); margin: 0 .8rem .2rem 0; }}
label {{ color: var(--quiet); font-size: 13px; }}
select.bk-input, .bk-btn {{ color: var(--ink) !important; background-color: var(--paper) !important;
  border-color: var(--rule) !important; font-size: 13px !important; }}
.bk-btn.bk-active {{ border-color: var(--bar) !important; box-shadow: inset 0 -2px var(--bar) !important; }}
"""


def list_style(colours: list[str]) -> str:
    """The list of runs with each run's colour at its left edge."""
    edges = "".join(
        f"label:nth-of-type({place}), .bk-input-group > div:nth-of-type({place}) label"
        f" {{ border-left: 5px solid {colour}; }}\n"
        for place, colour in enumerate(colours, start=1)
        if colour
    )
    return LIST + edges


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
header a {{ color: {RUNS[0]}; }}
.page {{ display: grid; grid-template-columns: minmax(13rem, 17rem) minmax(0, 1fr); gap: 1.6rem; }}
.figures {{ display: grid; gap: .6rem 1rem;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 21rem), 1fr)); }}
.controls {{ display: flex; flex-wrap: wrap; align-items: end; margin: .8rem 0 .4rem; }}
main > *, aside > *, .figures > * {{ min-width: 0; }}
#gone {{ display: none; color: var(--warn); }}
body.gone #gone {{ display: inline; }} body.gone .page {{ opacity: .55; }}
@media (max-width: 760px) {{
  body {{ padding: .8rem; }} .page {{ grid-template-columns: minmax(0, 1fr); gap: .8rem; }}
}}
</style>
"""
    + """
{% endblock %}
{% block contents %}
<header><h1>distkern</h1><div class="grow">{{ embed(roots.cluster) }}</div>
<span id="gone">no connection to the scheduler: what is shown is the last known</span>
<a href="status">Dask's dashboard</a></header>
<div class="page">
<aside>{{ embed(roots.runs) }}</aside>
<main>
<div>{{ embed(roots.now) }}</div>
<div class="controls">{{ embed(roots.over) }}{{ embed(roots.quantity) }}</div>
<div class="figures">
<div>{{ embed(roots.objective) }}</div><div>{{ embed(roots.error) }}</div>
<div>{{ embed(roots.other) }}</div><div>{{ embed(roots.memory) }}</div>
<div>{{ embed(roots.rows) }}</div><div>{{ embed(roots.bytes) }}</div>
</div>
<div>{{ embed(roots.legend) }}</div>
<div>{{ embed(roots.workers) }}</div>
<div>{{ embed(roots.time) }}</div>
<div>{{ embed(roots.events) }}</div>
</main></div>
{% endblock %}
"""
)


#: milliseconds between two looks
INTERVAL = 500

#: keeps the chosen runs in the page's address, so that a reload shows them again
_REMEMBER = """
const url = new URL(window.location);
url.searchParams.delete("run");
for (const place of cb_obj.active) url.searchParams.append("run", cb_obj.tags[place]);
window.history.replaceState(null, "", url);
"""


def open_page(histories: Histories, cluster: Callable[[], ClusterView], document: Any) -> None:
    """Fill a new document, one for each browser that looks."""
    page = Page(histories, cluster, document)
    page.update()
    document.add_periodic_callback(page.update, INTERVAL)


class Page:
    """The parts of one document and what they show.

    The newest run is shown until the reader has chosen others.
    """

    def __init__(self, histories: Histories, cluster: Callable[[], ClusterView], document: Any) -> None:
        self._histories, self._cluster, self._document = histories, cluster, document
        self._listed: list[str] = []
        self._chosen = self._runs_in_address(document)
        self._by_reader = bool(self._chosen)
        sheet = InlineStyleSheet(css=PART)
        control = InlineStyleSheet(css=CONTROL)
        self._parts = {
            name: Div(name=name, text="", stylesheets=[sheet], sizing_mode="stretch_width")
            for name in ("cluster", "now", "legend", "workers", "time", "events")
        }
        self._list_sheet = InlineStyleSheet(css=list_style([]))
        self._list = CheckboxGroup(
            name="runs", labels=[], active=[], stylesheets=[self._list_sheet], sizing_mode="stretch_width"
        )
        self._list.on_change("active", self._choose)
        self._list.js_on_change("active", CustomJS(code=_REMEMBER))
        self._over = RadioButtonGroup(
            name="over",
            labels=[f"over {name}" for name in fragments.POSITIONS],
            active=0,
            stylesheets=[control],
        )
        self._quantity = Select(
            name="quantity",
            title="",
            options=list[Any](["model_size"]),
            value="model_size",
            stylesheets=[control],
            width=210,
        )
        for widget, property_ in ((self._over, "active"), (self._quantity, "value")):
            widget.on_change(property_, self._changed)
        drawn = fragments.plots([], "passes", "model_size")
        self._figures = {name: Figure(plot) for name, plot in drawn.items()}
        for name, shown in self._figures.items():
            shown.figure.name = name
        # else the document is searched for models after each of hundreds of changes, which takes a second
        with document.models.freeze():
            for root in (*self._parts.values(), self._list, self._over, self._quantity):
                document.add_root(root)
            for shown in self._figures.values():
                document.add_root(shown.figure)
        document.title = "distkern"
        document.template = TEMPLATE
        document.js_on_event("connection_lost", CustomJS(code='document.body.classList.add("gone");'))
        document.js_on_event("client_reconnected", CustomJS(code='document.body.classList.remove("gone");'))

    @staticmethod
    def _runs_in_address(document: Any) -> list[str]:
        context = document.session_context
        arguments = context.request.arguments if context is not None and context.request else {}
        return [value.decode("utf-8", "replace") for value in arguments.get("run", [])]

    def _changed(self, attribute: str, old: Any, new: Any) -> None:
        self.update()

    def _choose(self, attribute: str, old: list[int], new: list[int]) -> None:
        chosen = [self._listed[place] for place in new if place < len(self._listed)]
        if chosen != self._chosen:
            self._chosen, self._by_reader = chosen, True
            self.update()

    def update(self) -> None:
        """Look at the histories and show them."""
        with self._document.models.freeze():
            self._show()

    def _show(self) -> None:
        known = self._histories.newest_first()
        if not self._by_reader or not any(run.id in self._chosen for run in known):
            self._chosen = [run.id for run in known[:1]]
        self._show_list(known)
        runs = [run for run in known if run.id in self._chosen]
        self._show_figures(runs)
        cluster = self._cluster()
        texts = {
            "cluster": fragments.cluster_line(cluster),
            "now": fragments.now(runs),
            "legend": fragments.legend(runs),
            "workers": fragments.workers(cluster, runs),
            "time": fragments.where_time_went(runs),
            "events": fragments.events(runs),
        }
        for name, text in texts.items():
            if self._parts[name].text != text:
                self._parts[name].text = text

    def _show_list(self, known: list[RunHistory]) -> None:
        now = time.time()
        labels = [fragments.run_label(run, now) for run in known]
        # colours are those of runs only where several are compared
        colours = [fragments.colour_of(run) if len(self._chosen) > 1 else "" for run in known]
        if (css := list_style(colours)) != self._list_sheet.css:
            self._list_sheet.css = css
        ids = [run.id for run in known]
        active = [place for place, run in enumerate(ids) if run in self._chosen]
        if ids != self._listed:
            self._listed = ids
            self._list.tags = list(ids)
        if labels != self._list.labels or active != self._list.active:
            self._list.update(labels=labels, active=active)

    def _show_figures(self, runs: list[RunHistory]) -> None:
        over = list(fragments.POSITIONS)[self._over.active or 0]
        options = [(name, name.replace("_", " ")) for name in fragments.quantities(runs)]
        if options != self._quantity.options:
            self._quantity.update(options=options)
        quantity = self._quantity.value
        if quantity not in dict(options):
            quantity = self._quantity.value = options[0][0]
        for name, plot in fragments.plots(runs, over, quantity).items():
            self._figures[name].show(plot)
