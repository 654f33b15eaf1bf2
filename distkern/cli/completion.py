"""Completion of commands, options, paths, algorithms and hyperparameters in bash, zsh and fish."""

from __future__ import annotations

import os
from collections.abc import Iterable

import click
from click.shell_completion import CompletionItem, shell_complete

#: the variable by which a shell asks
VARIABLE = "_DISTKERN_COMPLETE"
#: words of a parameter's metavar, or names of parameters, that stand for paths
_PATHS, _NAMED = ("FILE", "SRC", "D.zarr", "JOB", "M", "M2", "P", "DIR", "FOLDER"), ("src", "path", "folder")


def completed(group: click.Group) -> int | None:
    """Answer a shell that asks for completions and return the exit status; None if none asks."""
    asked = os.environ.get(VARIABLE)
    if asked is None:
        return None
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        for parameter in [] if command is None else command.params:
            _complete(parameter)
    return shell_complete(group, {}, "distkern", VARIABLE, asked)


def _complete(parameter: click.Parameter) -> None:
    words = str(parameter.metavar or "").strip("[].").replace("|", " ").replace("]", " ").split()
    if parameter.name in ("algorithm", "settings"):
        parameter._custom_shell_complete = _algorithms if parameter.name == "algorithm" else _settings
    elif parameter.name == "name":
        parameter._custom_shell_complete = _algorithms
    elif parameter.name in _NAMED or any(word.strip("[].") in _PATHS for word in words):
        parameter._custom_shell_complete = _paths


def _paths(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    return [CompletionItem(begun, type="file")]


def _algorithms(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    from distkern.cli.algorithms import CHOSEN
    from distkern.solvers.base import SOLVERS

    return _that_begin([CHOSEN, *SOLVERS], begun)


def _settings(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Hyperparameters of the named algorithm, then the words that one may be."""
    from distkern.cli.algorithms import CHOSEN
    from distkern.solvers.base import SOLVERS
    from distkern.solvers.hyperparameters import CHOICE, hyperparameters_of

    named = str(context.params.get("algorithm") or CHOSEN)
    known = hyperparameters_of(SOLVERS[named]) if named in SOLVERS else CHOICE
    name, given, value = begun.partition("=")
    if not given:
        return _that_begin((f"{one}=" for one in known), begun)
    words = known[name].words if name in known else []
    return [CompletionItem(f"{name}={word}") for word in words if word.startswith(value)]


def _that_begin(words: Iterable[str], begun: str) -> list[CompletionItem]:
    return [CompletionItem(word) for word in words if word.startswith(begun)]
