"""``distkern algorithms``."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from typing import Any

import click

from distkern.cli import options
from distkern.core.errors import unknown_name
from distkern.core.parameters import Parameter

#: lets distkern choose the algorithm for the data
CHOSEN = "auto"
_CHOICES = ("loss", "features", "kernel")


@click.command()
@click.argument("name", required=False)
@options.as_json
def algorithms(name: str | None, as_json: bool) -> None:
    """List the algorithms, or the hyperparameters of one.

    `--set NAME=VALUE` and the table [params] of a job file set hyperparameters.

    \b
    Examples:
      distkern algorithms
      distkern algorithms csvrg
    """
    facts = facts_of(name)
    if as_json:
        click.echo(json.dumps(facts if name is None else facts[name]))
        return
    for key, known in facts.items():
        _show(key, known, whole=name is not None)


def facts_of(name: str | None) -> dict[str, dict[str, Any]]:
    """Return facts on one algorithm or on all; :class:`~distkern.core.errors.InputError` if unknown."""
    from distkern.solvers.base import SOLVERS

    if name not in (None, CHOSEN, *SOLVERS):
        raise unknown_name("algorithm", str(name), [CHOSEN, *SOLVERS])
    known = {key: _facts(solver) for key, solver in SOLVERS.items() if name in (None, key)}
    return {CHOSEN: _facts_of_choice(), **known} if name in (None, CHOSEN) else known


def in_words(facts: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """Return two texts per hyperparameter: its values with the default, and its help."""
    return {
        key: (f"{one['values']}; default {_described(one['default'])}", one["help"])
        for key, one in facts["hyperparameters"].items()
    }


def _facts(solver: type[Any]) -> dict[str, Any]:
    from distkern.solvers.hyperparameters import hyperparameters_of

    parameters = hyperparameters_of(solver)
    regulariser = next(key for key in ("lam", "nu", "C", "noise") if key in parameters)
    page = inspect.getdoc(inspect.getmodule(solver)) or solver.__name__
    title, _, paper = page.splitlines()[0].rpartition(" (")
    return {
        "what": title,
        "paper": paper.rstrip(".)"),
        **{key: parameters[key].words for key in _CHOICES if key in parameters},
        "regulariser": f"{regulariser}: {parameters[regulariser].help}",
        "cost of a pass": solver.cost_of_pass,
        "memory": solver.memory,
        "hyperparameters": _described_parameters(parameters),
    }


def _facts_of_choice() -> dict[str, Any]:
    from distkern.core.common_parameters import CHOICE, CHOOSABLE, PROBABILITY

    return {
        "what": "auto: the algorithm that suits the data, chosen by their shape or by a trial (the default)",
        "chooses": list(CHOOSABLE),
        "hyperparameters": _described_parameters({**CHOICE, "probability": PROBABILITY}),
    }


def _described_parameters(parameters: Mapping[str, Parameter]) -> dict[str, dict[str, Any]]:
    return {
        key: {"values": parameter.description, "default": parameter.default, "help": parameter.help}
        for key, parameter in parameters.items()
    }


def _show(name: str, facts: dict[str, Any], *, whole: bool) -> None:
    from rich.text import Text

    from distkern.cli.tables import console, fact_table

    named, _, title = facts["what"].rpartition(": ")
    title = title if named.lower() == name else facts["what"]
    console().print(Text.assemble((name, "bold"), f": {title}"))
    if whole:
        shown = {key: f"{values}\n{meaning}" for key, (values, meaning) in in_words(facts).items()}
    else:
        shown = {
            key: ", ".join(value) if isinstance(value, list) else value
            for key, value in facts.items()
            if key not in ("what", "hyperparameters")
        }
    console().print(fact_table(shown))
    console().print()


def _described(default: Any) -> str:
    """Return a default in the notation of job files."""
    if default is None or isinstance(default, bool):
        return str(default).lower()
    return str(list(default)) if isinstance(default, tuple) else str(default)
