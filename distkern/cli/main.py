"""The entry point: it finds commands by name and turns every failure into one line and an exit status."""

from __future__ import annotations

import contextlib
import difflib
import errno
import importlib
import itertools
import logging
import math
import os
import shlex
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

from distkern.core import interrupts, processes
from distkern.core.errors import (
    DistkernError,
    FencedError,
    InputError,
    Problems,
    foreign,
    invalid_value,
    nearest,
    synonym,
)
from distkern.core.processes import FIRST_SILENCE, SILENCE, exceeded_limit
from distkern.core.text import broken, in_time
from distkern.core.version import __version__

#: exit statuses
DONE, FAILED, WRONG_INPUT, INTERRUPTED = 0, 1, 2, 130

#: command -> its module
_COMMANDS = {
    **{name: name for name in ("shard", "plan", "train", "tune", "update", "evaluate", "predict")},
    **{name: name for name in ("inspect", "algorithms", "runs", "demo", "submit")},
    **dict.fromkeys(("jobs", "status", "logs", "cancel"), "jobs"),
    "fetch": "fetch",
}
_REMEDIES = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "free some space or write elsewhere"),
    **dict.fromkeys((errno.EACCES, errno.EPERM), "change its permissions or use another path"),
    errno.EROFS: "write elsewhere",
    **dict.fromkeys(
        (errno.ENAMETOOLONG, errno.ELOOP, errno.EISDIR, errno.ENOTDIR, errno.EFBIG), "use another path"
    ),
}
#: what is no command -> where it is
_ELSEWHERE = {
    **dict.fromkeys(
        ("explain", "importance", "importances"),
        "the report.html that `train` writes shows importances; in Python: load_model(M).explain(X, y)",
    ),
    **dict.fromkeys(
        ("report", "plot"),
        "a model's folder has a report.html; `distkern evaluate M --data D.zarr --html FILE` writes a page",
    ),
    **dict.fromkeys(("export", "onnx"), "in Python: distkern.export(model, 'model.onnx')"),
    "serve": "in Python: load_model(M).predict([record])",
    "version": "write `distkern --version`",
    "help": "write `distkern --help`, or `distkern COMMAND --help`",
}
#: options of other programs, or keys of job files -> what to give instead
_INSTEAD = {
    **dict.fromkeys(("--n-jobs", "--njobs", "--jobs", "-j"), "give --workers N"),
    **dict.fromkeys(
        (
            "--metric",
            "--scoring",
            "--method",
            "--candidates",
            "--trials",
            "--n-trials",
            "--n-iter",
            "--validation",
            "--cv",
            "--folds",
        ),
        "`distkern tune` reads metric, method, candidates and validation from "
        "the table [search] of a job file",
    ),
    **dict.fromkeys(
        ("--time", "--time-column", "--date-column", "--date"),
        "columns of dates are recognised; to hold out the latest rows, give them in a file: --test LATER.csv",
    ),
    **dict.fromkeys(
        ("--early-stopping", "--early-stopping-rounds"),
        "in Python: fit(X, y, eval_set=(X_test, y_test), early_stopping=3)",
    ),
    **dict.fromkeys(
        ("--stratify", "--stratified"),
        "rows are drawn at random; --group COLUMN keeps the rows of one group together",
    ),
    **dict.fromkeys(("--regression", "--classification"), "write --task regression or --task classification"),
    **dict.fromkeys(("--params", "--param", "--hyperparameters"), "write --set NAME=VALUE"),
    **dict.fromkeys(("--gpu", "--device"), "distkern computes on processors only"),
    **dict.fromkeys(("--dry-run", "--plan"), "`distkern plan` shows what a run would do"),
    "--overwrite": "give another --out, or remove that folder first",
}
#: options of other programs -> ours
_OUR_OPTIONS = {
    **dict.fromkeys(("--label", "--labels", "--y"), "--target"),
    **dict.fromkeys(("--sep", "--separator", "--field-separator"), "--delimiter"),
    **dict.fromkeys(("--dropna", "--drop-na", "--drop-missing"), "--drop-missing-target"),
    **dict.fromkeys(("--na-values", "--null-values", "--missing"), "--na"),
    **dict.fromkeys(("--index-col", "--index", "--key"), "--id"),
    **dict.fromkeys(("--skiprows", "--skip-rows"), "--skip-lines"),
    **dict.fromkeys(("--test-size", "--test-share"), "--test-fraction"),
    **dict.fromkeys(("--model", "--method", "--estimator"), "--algorithm"),
    **dict.fromkeys(("--cluster", "--client", "--address"), "--scheduler"),
    **dict.fromkeys(("--ram", "--max-memory"), "--memory-limit"),
    **dict.fromkeys(("--probabilities", "--probability", "--predict-proba"), "--proba"),
    **dict.fromkeys(("--random-state", "--random-seed"), "--seed"),
}


class _Commands(click.Group):
    """Imports a command when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            near = nearest(cmd_name, _COMMANDS)
            meant = f"did you mean {near!r}?" if near else f"use one of {', '.join(_COMMANDS)}"
            raise InputError(f"no command {cmd_name!r}", hint=_ELSEWHERE.get(cmd_name, meant))
        command = getattr(importlib.import_module(f"distkern.cli.{_COMMANDS[cmd_name]}"), cmd_name)
        return command if isinstance(command, click.Command) else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        # a shell that asks for completions gives unfinished lines
        if not ctx.resilient_parsing:
            _refuse_options_as_values(command, rest)
        return name, command, rest


def _refuse_options_as_values(command: click.Command | None, words: Sequence[str]) -> None:
    """Refuse an option without a value, also if the next option would be taken for it."""
    options = {} if command is None else {name: one for one in command.params for name in one.opts}
    for word, value in itertools.pairwise([*words, None]):
        takes = options.get(word or "")
        has_value = value is not None and value not in options
        if isinstance(takes, click.Option) and not (takes.is_flag or takes.count or has_value):
            follows = f"{value} follows; " if value else ""
            raise InputError("needs a value", where=word, hint=f"{follows}write {_usage(takes)}")


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


def explain(error: BaseException, arguments: Sequence[str] = ()) -> tuple[int, str]:
    """Return the exit status of a failure of a command line and the line to print (empty for none)."""
    if isinstance(error, click.exceptions.Exit):
        return error.exit_code, ""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        return WRONG_INPUT, error.format_message()
    if isinstance(error, click.NoSuchOption):
        return WRONG_INPUT, _line(_no_option(error))
    if isinstance(error, click.UsageError):
        if isinstance(error, click.BadParameter) and (refusal := _bad_value(error)) is not None:
            return WRONG_INPUT, _line(str(refusal))
        path, text = error.ctx.command_path if error.ctx else "distkern", error.format_message().rstrip(".")
        if "unexpected extra" in text and "=" in text:
            return WRONG_INPUT, _line(f"{text}; write --set before each NAME=VALUE")
        instead = _data_by_name(error, arguments) or _as_written(error) or f"see `{path} --help`"
        return WRONG_INPUT, _line(f"{text}; {instead}")
    if isinstance(error, click.ClickException):
        return WRONG_INPUT, _line(error.format_message())
    if isinstance(error, Problems):
        return WRONG_INPUT, "\n".join(_line(str(one)) for one in error.errors)
    # fenced: two runs were asked to write to one folder
    if isinstance(error, (InputError, FencedError)):
        return WRONG_INPUT, _line(str(error))
    if isinstance(error, (KeyboardInterrupt, click.Abort)):
        return INTERRUPTED, f"distkern: {_one_line(str(error)) or 'interrupted'}"
    # rich exits when the reader of its output is gone
    if isinstance(error, (BrokenPipeError, SystemExit)):
        return FAILED, ""
    if isinstance(error, FileNotFoundError) and _is_nowhere():
        return WRONG_INPUT, _line("the current folder has been deleted; change to another one")
    if isinstance(error, OSError) and error.errno in _REMEDIES:
        where = error.filename if error.filename is not None else "output"
        return WRONG_INPUT, _line(f"{where}: {error.strerror}; {_REMEDIES[error.errno]}")
    if isinstance(error, DistkernError):
        return FAILED, _line(str(error))
    what = "memory ran out" if isinstance(error, MemoryError) else type(error).__name__
    what += f": {error}" if str(error) else ""
    remedy = exceeded_limit(error) or "set DISTKERN_DEBUG=1 for the traceback"
    return FAILED, _line(f"{what}; {remedy}")


def _data_by_name(error: click.UsageError, arguments: Sequence[str]) -> str:
    """Return the option for a data set that was given by its place; empty for other mistakes."""
    if not isinstance(error, click.MissingParameter) or "--data" not in getattr(error.param, "opts", ()):
        return ""
    paths = [word for word in arguments[1:] if not word.startswith("-") and os.path.exists(word)]
    return f"write --data {shlex.quote(paths[-1])}" if len(paths) > 1 else ""


def _as_written(error: click.UsageError) -> str:
    """Return how a missing option or argument is written; empty for other mistakes."""
    context = error.ctx
    if not isinstance(error, click.MissingParameter) or error.param is None:
        return ""
    if isinstance(error.param, click.Option) or context is None:
        return f"write {_usage(error.param)}"
    names = [one.human_readable_name for one in context.command.params if isinstance(one, click.Argument)]
    return f"write `{context.command_path} {' '.join(names)}`, see its --help"


def _usage(option: click.Parameter) -> str:
    """Return an option with what stands for its value."""
    return " ".join(filter(None, (option.opts[-1], option.metavar)))


def _is_nowhere() -> bool:
    """Whether the process's working folder has been deleted, so that no relative path leads anywhere."""
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


def _bad_value(error: click.BadParameter) -> InputError | None:
    """Return the refusal of an option's value as that of a hyperparameter reads; None for other refusals."""
    # the import takes 0.1 s
    from distkern.core.parameters import Number, Whole, in_words

    value, refused, _ = error.message.partition(" is not ")
    option = error.param
    if option is None or not refused:
        return None
    name = option.opts[-1] if isinstance(option, click.Option) else option.human_readable_name
    value, kind = value.strip("'"), option.type
    if isinstance(kind, click.Choice):
        near = nearest(value, kind.choices)
        hint = f"did you mean {near}?" if near else None
        return invalid_value(name, value, in_words(list(map(repr, kind.choices))), hint=hint)
    if not isinstance(kind, click.types.IntParamType | click.types.FloatParamType):
        return None
    is_whole = isinstance(kind, click.types.IntParamType)
    given: int | float | str = value
    with contextlib.suppress(ValueError):
        given = int(value) if is_whole else float(value)
    least, most = (getattr(kind, end, None) for end in ("min", "max"))
    least, most = -math.inf if least is None else least, math.inf if most is None else most
    is_open = getattr(kind, "min_open", False), getattr(kind, "max_open", False)
    accepted = (Whole if is_whole else Number)(least, most, is_open)
    return invalid_value(name, given, accepted.description)


def _no_option(error: click.NoSuchOption) -> str:
    """Return the message for an unknown option, with what to give instead."""
    option = error.option_name.replace("_", "-")
    path = error.ctx.command_path if error.ctx else "distkern"
    instead = _INSTEAD.get(option, "")
    option = _OUR_OPTIONS.get(option, option)
    if path.endswith(("evaluate", "predict")) and option in ("--metric", "--scoring"):
        instead = "`distkern evaluate` prints all metrics"
    if path.endswith("evaluate") and option in ("--out", "--output", "--report", "--page"):
        instead = "write --html FILE for a page, or --json for the figures on standard output"
    command = error.ctx.command if error.ctx else None
    known = _options(command)
    if not instead and command is not None and option in known:
        instead = next(f"write {_usage(one)}" for one in command.params if option in one.opts)
    if not instead and "--set" in known and (name := _hyperparameter(option)):
        instead = f"write --set {name}=VALUE"
    instead = instead or foreign(option.removeprefix("--"), ()) or ""
    if not instead and option in _options_of("shard"):
        instead = f"it belongs to the data set: distkern shard FILE {option} ... --out D.zarr"
    near = difflib.get_close_matches(option, known, n=1, cutoff=0.7)
    if not instead and near:
        instead = f"did you mean {near[0]}?"
    if not instead and (owners := [name for name in _COMMANDS if option in _options_of(name)]):
        instead = f"it is an option of {', '.join(f'`distkern {name}`' for name in owners)}"
    return f"{error.option_name}: no such option; {instead or f'see `{path} --help`'}"


def _hyperparameter(option: str) -> str | None:
    """Return the hyperparameter that an option names, in our words or another library's."""
    # the import takes a while
    from distkern.solvers.base import SOLVERS
    from distkern.solvers.hyperparameters import hyperparameters_of

    name = option.removeprefix("--").replace("-", "_")
    known = {one for solver in SOLVERS.values() for one in hyperparameters_of(solver)}
    return name if name in known else synonym(name, known)


def _options_of(name: str) -> list[str]:
    return _options(group.get_command(click.Context(group), name))


def _options(command: click.Command | None) -> list[str]:
    return [] if command is None else [name for one in command.params for name in one.opts]


def _line(text: str) -> str:
    return f"distkern: error: {_one_line(text)}"


def _one_line(text: str) -> str:
    return " ".join(text.split())


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
