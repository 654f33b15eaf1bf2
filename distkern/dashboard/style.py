"""The page's frame: where its parts go, and the style sheets of its parts."""

from __future__ import annotations

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
