"""What a command that failed prints, one line that says what to do, and its exit status."""

from __future__ import annotations

import contextlib
import difflib
import errno
import json
import math
import os
import re
import shlex
from collections.abc import Sequence
from functools import partial

import click

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
from distkern.core.processes import exceeded_limit

#: exit statuses
DONE, FAILED, WRONG_INPUT, INTERRUPTED = 0, 1, 2, 130
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
#: a command in a message, and what stands for a model in it
_COMMAND, _MODEL = re.compile("`[^`]*`"), re.compile(r"\bMODEL\b")


def no_command(name: str, arguments: Sequence[str], known: Sequence[str]) -> InputError:
    """Return the error for an unknown command, with what to give instead."""
    near = nearest(name, known)
    meant = f"did you mean {near!r}?" if near else f"use one of {', '.join(known)}"
    hint = _exported(arguments) if name in ("export", "onnx") else _ELSEWHERE.get(name, meant)
    return InputError(f"no command {name!r}", hint=hint)


def _exported(arguments: Sequence[str]) -> str:
    """Return how Python exports the model among the arguments, in any order, to the file among them."""
    model = _model_among(arguments) or "MODEL"
    others = (word for word in arguments if word != model and not word.startswith("-"))
    model, file = json.dumps(model), json.dumps(next(others, "model.onnx"))
    code = f"import distkern as dk; dk.export(dk.load_model({model}), {file})"
    return f"Python writes ONNX files, the model first: `python -c {shlex.quote(code)}`"


def _model_among(arguments: Sequence[str]) -> str | None:
    """Return the first argument that is a saved model."""
    from distkern.data.store.places import place_of

    for word in arguments:
        # other words are no places, or places out of reach
        with contextlib.suppress(DistkernError, OSError, ValueError):
            if (place_of(word) / "model.json").exists():
                return word
    return None


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
    if isinstance(error, InputError):
        error.reword(partial(_COMMAND.sub, partial(_with_model, arguments)))
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


def _with_model(arguments: Sequence[str], command: re.Match[str]) -> str:
    """Return a command that a message quotes with the model among the arguments in place of ``MODEL``."""
    if not _MODEL.search(command[0]) or (model := _model_among(arguments[1:])) is None:
        return command[0]
    # a function, since a path may have backslashes
    return _MODEL.sub(lambda _: shlex.quote(model), command[0])


def _data_by_name(error: click.UsageError, arguments: Sequence[str]) -> str:
    """Return the option for a data set that was given by its place; empty for other mistakes."""
    if not isinstance(error, click.MissingParameter) or "--data" not in getattr(error.param, "opts", ()):
        return ""
    paths = [word for word in arguments[1:] if not word.startswith("-") and os.path.exists(word)]
    if len(paths) < 2:
        return ""
    path, model = paths[-1], _model_among(arguments[1:])
    if model is None or not os.path.isfile(path):
        return f"write --data {shlex.quote(path)}"
    from distkern.data.manifest import shard_command
    from distkern.data.store.places import place_of

    return f"it takes a data set: `{shard_command(place_of(path), model)}`, and give that"


def _as_written(error: click.UsageError) -> str:
    """Return how a missing option or argument is written; empty for other mistakes."""
    context = error.ctx
    if not isinstance(error, click.MissingParameter) or error.param is None:
        return ""
    if isinstance(error.param, click.Option) or context is None:
        return f"write {usage(error.param)}"
    names = [one.human_readable_name for one in context.command.params if isinstance(one, click.Argument)]
    return f"write `{context.command_path} {' '.join(names)}`, see its --help"


def usage(option: click.Parameter) -> str:
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
        instead = next(f"write {usage(one)}" for one in command.params if option in one.opts)
    if not instead and "--set" in known and (name := _hyperparameter(option)):
        instead = f"write --set {name}=VALUE"
    instead = instead or foreign(option.removeprefix("--"), ()) or ""
    if not instead and option in dict(_options_by_command(error))["shard"]:
        instead = f"it belongs to the data set: distkern shard FILE {option} ... --out D.zarr"
    near = difflib.get_close_matches(option, known, n=1, cutoff=0.7)
    if not instead and near:
        instead = f"did you mean {near[0]}?"
    if not instead and (owners := [name for name, owned in _options_by_command(error) if option in owned]):
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


def _options_by_command(error: click.UsageError) -> list[tuple[str, list[str]]]:
    """Return the options of every command beside the one that failed."""
    assert error.ctx is not None, "a command failed"
    context = error.ctx.find_root()
    group = context.command
    assert isinstance(group, click.Group)
    return [(name, _options(group.get_command(context, name))) for name in group.list_commands(context)]


def _options(command: click.Command | None) -> list[str]:
    return [] if command is None else [name for one in command.params for name in one.opts]


def _line(text: str) -> str:
    return f"distkern: error: {_one_line(text)}"


def _one_line(text: str) -> str:
    return " ".join(text.split())
