"""``distkern algorithms``."""

from __future__ import annotations

import inspect
import json
from typing import Any

import click

from distkern.cli import options

_CHOICES = ("loss", "features", "kernel")


@click.command()
@click.argument("name", required=False)
@options.as_json
def algorithms(name: str | None, as_json: bool) -> None:
    """List the algorithms, or of one of them the hyperparameters that `--set` and job files take.

    \b
    Examples:
      distkern algorithms
      distkern algorithms csvrg
    """
    from distkern.common.errors import unknown_name
    from distkern.common.registry import members
    from distkern.solvers.base import AbstractSolver

    solvers = members("distkern.solvers", AbstractSolver)  # type: ignore[type-abstract]
    if name is not None and name not in solvers:
        raise unknown_name("algorithm", name, solvers)
    facts = {key: _facts(key, solver) for key, solver in solvers.items() if name in (None, key)}
    if as_json:
        click.echo(json.dumps(facts if name is None else facts[name]))
        return
    for key, known in facts.items():
        _show(key, known, whole=name is not None)


def _facts(name: str, solver: type[Any]) -> dict[str, Any]:
    from distkern.solvers.hyperparameters import hyperparameters_of

    parameters = hyperparameters_of(solver)
    regulariser = next(key for key in ("lam", "nu", "C") if key in parameters)
    title, _, paper = (inspect.getdoc(inspect.getmodule(solver)) or "").splitlines()[0].rpartition(" (")
    return {
        "what": title,
        "paper": paper.rstrip(".)"),
        **{key: parameters[key].words for key in _CHOICES if key in parameters},
        "regulariser": f"{regulariser}: {parameters[regulariser].help}",
        "cost of a pass": solver.cost_of_pass,
        "memory": solver.memory,
        "hyperparameters": {
            key: {"values": parameter.spoken, "default": parameter.default, "help": parameter.help}
            for key, parameter in parameters.items()
        },
    }


def _show(name: str, facts: dict[str, Any], *, whole: bool) -> None:
    from distkern.cli.tables import console, fact_table

    named, _, title = facts["what"].rpartition(": ")
    title = title if named.lower() == name else facts["what"]
    console().print(f"[bold]{name}[/bold]: {title}")
    parameters = facts["hyperparameters"]
    if whole:
        shown = {
            key: f"{one['values']}; default {_spoken(one['default'])}\n{one['help']}"
            for key, one in parameters.items()
        }
    else:
        shown = {
            key: ", ".join(value) if isinstance(value, list) else value
            for key, value in facts.items()
            if key not in ("what", "hyperparameters")
        }
    console().print(fact_table(shown))
    console().print()


def _spoken(default: Any) -> str:
    """A default as it is written in a job file."""
    if default is None or isinstance(default, bool):
        return str(default).lower()
    return str(list(default)) if isinstance(default, tuple) else str(default)
