"""The entry point: it finds commands by name, runs them, and completes words in shells."""

from __future__ import annotations

import importlib
import itertools
import logging
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import click
from click.shell_completion import CompletionItem, shell_complete

from distkern.cli.mistakes import DONE, INTERRUPTED, explain, no_command, usage
from distkern.core import interrupts, processes
from distkern.core.errors import InputError
from distkern.core.processes import FIRST_SILENCE, SILENCE
from distkern.core.text import broken, in_time
from distkern.core.version import __version__

#: command -> its module
_COMMANDS = {
    **{name: name for name in ("shard", "plan", "train", "tune", "update", "evaluate", "predict")},
    **{name: name for name in ("inspect", "algorithms", "runs", "demo", "submit")},
    **dict.fromkeys(("jobs", "status", "logs", "cancel"), "jobs"),
    "fetch": "fetch",
}


class _Commands(click.Group):
    """Imports a command when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command = getattr(importlib.import_module(f"distkern.cli.{_COMMANDS[cmd_name]}"), cmd_name)
        return command if isinstance(command, click.Command) else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        # a shell that asks for completions gives unfinished lines
        if not ctx.resilient_parsing and self.get_command(ctx, args[0]) is None:
            raise no_command(args[0], args[1:], list(_COMMANDS))
        name, command, rest = super().resolve_command(ctx, args)
        if not ctx.resilient_parsing:
            _refuse_options_as_values(command, rest)
            _refuse_second_columns(command, rest)
        return name, command, rest


def _refuse_options_as_values(command: click.Command | None, words: Sequence[str]) -> None:
    """Refuse an option without a value, also if the next option would be taken for it."""
    options = {} if command is None else {name: one for one in command.params for name in one.opts}
    for word, value in itertools.pairwise([*words, None]):
        takes = options.get(word or "")
        has_value = value is not None and value not in options
        if isinstance(takes, click.Option) and not (takes.is_flag or takes.count or has_value):
            follows = f"{value} follows; " if value else ""
            raise InputError("needs a value", where=word, hint=f"{follows}write {usage(takes)}")


def _refuse_second_columns(command: click.Command | None, words: Sequence[str]) -> None:
    """Refuse a second column for an option that takes one: the first would be a feature unnoticed."""
    for option in () if command is None else command.params:
        if isinstance(option, click.Option) and option.metavar == "COLUMN" and not option.multiple:
            given = [value for word, value in itertools.pairwise(words) if word in option.opts]
            if len({*given}) > 1:
                hint = f"keep one of {', '.join(map(repr, given))}"
                raise InputError("takes one column, and several are given", where=option.opts[-1], hint=hint)


@click.command(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with `distkern demo`, or shard your own file: `distkern shard data.csv --out data.zarr`.",
)
@click.version_option(__version__, message="%(prog)s %(version)s")
def group() -> None:
    """Train kernel machines on data larger than memory, on this machine or a Dask cluster."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status: 0 done, 2 wrong input, 130 interrupted, 1 all else."""
    began = time.time() if arguments is not None else processes.started()
    given = sys.argv[1:] if arguments is None else list(arguments)
    if arguments is None and given[:1] and given[0] in _COMMANDS and not sys.stderr.isatty():
        _say_soon(given[0], began)
    defer_imports()
    if arguments is None and (status := _completed()) is not None:
        return status
    # failures are reported in one line below; libraries would report them again
    for library in ("asyncio", "distributed", "tornado"):
        logging.getLogger(library).setLevel(logging.CRITICAL + 1)
    try:
        # a batch system's termination leaves a checkpoint exactly as Ctrl-C does
        with (
            interrupts.as_exceptions(ends_process=arguments is None),
            group.make_context("distkern", given, obj=began) as context,
        ):
            group.invoke(context)
        sys.stdout.flush()
        return DONE
    except BaseException as error:
        if os.environ.get("DISTKERN_DEBUG") and not isinstance(error, click.exceptions.Exit):
            traceback.print_exception(error)
        status, line = explain(error, given)
        if isinstance(error, BrokenPipeError):
            # the reader is gone: the interpreter must not fail again when it flushes at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if line:
            if sys.stderr.isatty():
                line = "\n".join(broken(one, 80) for one in line.splitlines())
            click.echo(line, err=True)
        if status == INTERRUPTED:
            # an interrupt inside an exec() of text, as some modules run when they are imported, makes CPython
            # end by the signal even if it was caught; the next exec() undoes that
            exec("")
        return status


def _say_soon(command: str, began: float) -> threading.Thread:
    """Report on standard error that the command runs, until it writes something or a run is shown."""
    wrote, say = threading.Event(), sys.stderr.write

    def noted(write: Callable[[str], int]) -> Callable[[str], int]:
        def write_noted(text: str) -> int:
            wrote.set()
            return write(text)

        return write_noted

    for stream in (sys.stdout, sys.stderr):
        stream.write = noted(stream.write)  # type: ignore[method-assign]

    def beat() -> None:
        due, so_far = began + FIRST_SILENCE, ""
        while not wrote.wait(max(due - time.time(), 0.0)):
            if getattr(sys.modules.get("distkern.show.terminal"), "SHOWN", False):
                return
            say(f"distkern {command}: starting{so_far}\n")
            sys.stderr.flush()
            due += SILENCE
            so_far = f", {in_time(due - began)} so far"

    beating = threading.Thread(target=beat, daemon=True)
    beating.start()
    return beating


# -- modules that load on first use: scikit-learn imports these two for functions that commands rarely call,
# 0.8 s of processor time. The standard library's LazyLoader loads a module as soon as a file imports it.

_SELDOM_USED = ("pandas", "scipy.stats")
_LOADING = threading.RLock()


class _Deferred(ModuleType):
    """Stands for a module, and loads it on the first access to an attribute."""

    def __getattr__(self, name: str) -> Any:
        with _LOADING:
            if sys.modules.get(self.__name__) is self:
                del sys.modules[self.__name__]
            return getattr(importlib.import_module(self.__name__), name)


def defer_imports() -> None:
    """Defer the import of these modules in this process unless they are loaded already."""
    for name in _SELDOM_USED:
        if name not in sys.modules:
            deferred = _Deferred(name)
            # Bokeh looks at a module's specification to see whether pandas is installed
            deferred.__spec__ = ModuleSpec(name, None)
            sys.modules[name] = deferred


# -- shell completion in bash, zsh and fish

#: the variable that a shell sets to ask for completions
_VARIABLE = "_DISTKERN_COMPLETE"
#: words of a parameter's metavar, and names of parameters, that stand for paths
_PATHS, _NAMED = ("FILE", "SRC", "D.zarr", "JOB", "M", "M2", "P", "DIR", "FOLDER"), ("src", "path", "folder")


def _completed() -> int | None:
    """Answer a shell that asks for completions and return the exit status; None if none asks."""
    asked = os.environ.get(_VARIABLE)
    if asked is None:
        return None
    for name in _COMMANDS:
        command = group.get_command(click.Context(group), name)
        for parameter in [] if command is None else command.params:
            _complete(parameter)
    return shell_complete(group, {}, "distkern", _VARIABLE, asked)


def _complete(parameter: click.Parameter) -> None:
    words = str(parameter.metavar or "").strip("[].").replace("|", " ").replace("]", " ").split()
    if parameter.name in ("algorithm", "name"):
        parameter._custom_shell_complete = _algorithms
    elif parameter.name == "settings":
        parameter._custom_shell_complete = _settings
    elif parameter.name in _NAMED or any(word.strip("[].") in _PATHS for word in words):
        parameter._custom_shell_complete = lambda context, parameter, begun: [
            CompletionItem(begun, type="file")
        ]


def _algorithms(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    from distkern.cli.algorithms import CHOSEN
    from distkern.solvers.base import SOLVERS

    return _that_begin([CHOSEN, *SOLVERS], begun)


def _settings(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Offer the hyperparameters of the named algorithm, then the values of one that takes words."""
    from distkern.cli.algorithms import CHOSEN
    from distkern.core.common_parameters import CHOICE
    from distkern.solvers.base import SOLVERS
    from distkern.solvers.hyperparameters import hyperparameters_of

    named = str(context.params.get("algorithm") or CHOSEN)
    known = hyperparameters_of(SOLVERS[named]) if named in SOLVERS else CHOICE
    name, given, value = begun.partition("=")
    if not given:
        return _that_begin((f"{one}=" for one in known), begun)
    words = known[name].words if name in known else []
    return [CompletionItem(f"{name}={word}") for word in words if word.startswith(value)]


def _that_begin(words: Iterable[str], begun: str) -> list[CompletionItem]:
    return [CompletionItem(word) for word in words if word.startswith(begun)]
