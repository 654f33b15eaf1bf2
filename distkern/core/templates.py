"""Jinja2 templates of the parts of a page, as text, since they travel to schedulers without this package."""

from __future__ import annotations

from typing import Any

from jinja2 import Environment

_PARTS = """
{% macro heading(words) %}<h2>{{ words }}</h2>{% endmacro %}

{% macro note(words, kind) %}{% if words %}<p class="{{ kind }}">{{ words }}</p>{% endif %}{% endmacro %}

{% macro tiles(cells) %}<div class="tiles">
  {%- for name, value in cells.items() -%}
  <div class="tile"><span class="quiet">{{ name }}</span><b>{{ value }}</b></div>
  {%- endfor -%}
</div>{% endmacro %}

{% macro table(names, meanings, rows, kind, chosen, sortable, labels) %}<div class="scroll">
<table class="{{ kind }}{% if labels %} stacks" style="{{ labels }}{% endif %}">
  {%- if names %}<tr>{% for name in names -%}
  <th scope="col"{% if meanings.get(name) %} title="{{ meanings[name] }}"{% endif %}
  {%- if sortable %} data-sort tabindex="0"{% endif %}>{{ name }}</th>
  {%- endfor %}</tr>{% endif -%}
  {% for row in rows -%}
  <tr{% if loop.index0 == chosen %} class="chosen"{% endif %}>
  {%- for cell in row %}<td>{{ cell }}</td>{% endfor %}</tr>
  {%- endfor -%}
</table></div>{% endmacro %}

{% macro bar(width, colour, spread) %}<div class="bar">
  {%- set fill = "width:%s%%;background:%s" % (width, colour) %}<i style="{{ fill }}"></i>
  {%- if spread %}<i class="spread" style="left:{{ spread[0] }}%;width:{{ spread[1] }}%"></i>{% endif -%}
</div>{% endmacro %}

{% macro key(styles, marks) %}{% for label, style in styles.items() -%}
  <span class="item">
  {%- if style.dash %}<span class="swatch {{ style.dash }}" style="color:{{ style.css }}"></span>{% endif -%}
  <span style="color:{{ style.css }}">{{ marks[style.marker] }}</span> {{ label }}</span>
{% endfor %}{% endmacro %}

{% macro cell(words, colour, percent) %}{% if percent -%}
  <span class="cell" style="background:color-mix(in srgb, {{ colour }} {{ percent }}%, transparent)">
  {{- words }}</span>
  {%- else %}<span class="cell none">{{ words }}</span>{% endif %}{% endmacro %}

{% macro steps(words, cells) %}{{ words }} <span class="steps">
  {%- for cell in cells %}{{ cell }}{% endfor %}</span>{% endmacro %}

{% macro row(first, second) %}<div class="row"><span>{{ first }}</span>
<span class="quiet">{{ second }}</span></div>{% endmacro %}

{% macro marked(kind, words) %}<span class="{{ kind }}">{{ words }}</span>{% endmacro %}

{% macro boxed(kind, part) %}<div class="{{ kind }}">{{ part }}</div>{% endmacro %}

{% macro figures(drawn, marks) %}<div class="figures">
  {%- for place, plot in drawn -%}
  <figure>{{ place }}
  {%- if plot.keys %}<figcaption>{{ key(plot.keys, marks) }}</figcaption>{% endif %}</figure>
  {%- endfor -%}
</div>{% endmacro %}

{% macro rows(words, head) %}<p>{{ words }}{% if head %}; the first of them:{% endif %}</p>
{% if head %}<div style="overflow-x: auto">{{ head | safe }}</div>{% endif %}{% endmacro %}

{% macro dataset(name, words, rows) %}<p><b>{{ name }}</b>: {{ words }}</p>
{{ rows | safe }}{% endmacro %}

{% macro page(title, begins, style, body, script) -%}
{{ begins }}{{ title }}</title><style>{{ style }}</style></head><body>
<h1>{{ title }}</h1>
{% for part in body %}{{ part }}
{% endfor %}{{ script }}</body></html>
{% endmacro %}
"""


class Templates:
    """The macros as methods that return HTML; texts are escaped, and None becomes a dash."""

    def __init__(self) -> None:
        self._parts: Any = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if self._parts is None:
            environment = Environment(autoescape=True, finalize=lambda value: "-" if value is None else value)
            self._parts = environment.from_string(_PARTS).module
        return getattr(self._parts, name)

    def __reduce__(self) -> tuple[Any, ...]:
        # compiled templates cannot be pickled; they are compiled where they are used
        return type(self), ()


TEMPLATES = Templates()
