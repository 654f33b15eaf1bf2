"""Options that several commands share."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from distkern.core.errors import InputError
from distkern.core.parameters import parse_bytes

Command = TypeVar("Command", bound=Callable[..., Any])

if TYPE_CHECKING:
    from distkern.data.dataset import Dataset

    _ParamType = click.ParamType[Any]
else:
    # older versions of click have no type parameter
    _ParamType = click.ParamType


def began() -> float:
    """Return when the command began, in seconds since 1970."""
    context = click.get_current_context(silent=True)
    found = None if context is None else context.find_root().obj
    return found if isinstance(found, float) else time.time()


class PlaceType(_ParamType):
    """A path or a URL, converted to a :data:`distkern.data.store.places.Place`."""

    name = "place"

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        from distkern.data.store.places import place_of

        try:
            return place_of(value)
        except InputError as error:
            name = None if parameter is None else parameter.opts[-1]
            raise InputError(error.what, where=error.where or name, hint=error.hint) from None


PLACE = PlaceType()

as_json = click.option("--json", "as_json", is_flag=True, help="Print the facts as one JSON object.")


def read_by(parse: Callable[[str], Any]) -> Callable[..., Any]:
    """Return a callback that parses an option and reports errors under its name."""

    def read(context: click.Context, parameter: click.Parameter, value: str | None) -> Any:
        try:
            return None if value is None else parse(value)
        except InputError as error:
            raise InputError(error.what, where=error.where or parameter.opts[-1], hint=error.hint) from None

    return read


def _threshold(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


threshold = click.option(
    "--threshold",
    metavar="P",
    callback=read_by(_threshold),
    help="Predict the second of two classes if its probability is at least P; balanced: P is the share of "
    "this class among the training rows.  [default: the model's]",
)


def with_threshold(model: Any, threshold: float | str | None) -> Any:
    """Return a fitted model with the threshold of ``--threshold``.

    Raises
    ------
    InputError
        If the model has no probabilities of two classes, or the threshold is not valid.
    """
    if threshold is None:
        return model
    try:
        if "threshold" not in model.hyperparameters:
            raise InputError(f"needs two classes with probabilities, and this is a {type(model).__name__}")
        model.set_params(threshold=threshold).check_parameters()
        assert model.threshold_ is not None
    except InputError as error:
        raise InputError(error.what, where="--threshold", hint=error.hint or "leave it out") from None
    return model


def open_for(model: str, data: str) -> Dataset:
    """Open the data set for a model; if it is a file, the error names the command that shards it."""
    from distkern.data.dataset import open_dataset
    from distkern.data.manifest import not_sharded
    from distkern.data.store.places import place_of

    place = place_of(data)
    if place.exists() and not place.is_dir():
        raise not_sharded(place, like=model)
    return open_dataset(data)


def tell(as_json: bool, facts: dict[str, Any], text: str) -> None:
    """Print the outcome of a command."""
    click.echo(json.dumps(facts) if as_json else text)


def together(*decorators: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """Combine decorators into one."""

    def decorate(command: Command) -> Command:
        decorated: Any = command
        for decorator in reversed(decorators):
            decorated = decorator(decorated)
        return decorated  # type: ignore[no-any-return]

    return decorate


#: schedulers that are known without importing Dask
_LOCAL = ("synchronous", "threads", "processes", "local")
_ADDRESS = re.compile(r"(tcp|tls)://\S+:\d+")


def check_scheduler(name: str) -> str:
    """Return the name of a scheduler or its address; :class:`InputError` for other names."""
    if name in _LOCAL or _ADDRESS.fullmatch(name):
        return name
    # executors that were added: listing them imports Dask
    from distkern.engine.executors import EXECUTORS

    known = list(EXECUTORS)
    if name not in known:
        raise InputError(
            f"unknown scheduler {name!r}",
            hint=f"use one of {', '.join(known)}, or tcp://HOST:PORT or tls://HOST:PORT",
        )
    return name


def check_workers(scheduler: str | None, workers: int | None, where: str = "--workers") -> None:
    """Refuse a number of workers, given at ``where``, where the scheduler decides it."""
    if workers is None or scheduler is None:
        return
    if "://" in scheduler:
        what, hint = "has its own workers", "start more with `dask worker ADDRESS`"
    elif scheduler == "synchronous" and workers > 1:
        what, hint = "works in one thread", "use --scheduler threads, or leave out the number of workers"
    else:
        return
    raise InputError(f"scheduler {scheduler!r} {what}", where=where, hint=hint)


def memory_limit(help: str = "Memory of one worker, for instance 512MiB.") -> Callable[[Command], Command]:
    """``--memory-limit``, converted to bytes."""
    return click.option("--memory-limit", metavar="SIZE", callback=read_by(parse_bytes), help=help)


_CERTIFICATES = "distkern.certificates"


def _certificate(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    if value is not None:
        context.meta.setdefault(_CERTIFICATES, {})[parameter.name] = value


def use_certificates(scheduler: str | None) -> None:
    """Pass the files given by ``--tls-...`` to Dask.

    Raises
    ------
    InputError
        If the scheduler has no tls:// address, or a file cannot be used.
    """
    context = click.get_current_context(silent=True)
    given = {} if context is None else context.meta.get(_CERTIFICATES, {})
    if not given:
        return
    from distkern.engine.dask.handshake import use_certificates

    if not (scheduler or "").startswith("tls://"):
        option = f"--{next(iter(given)).replace('_', '-')}"
        raise InputError(
            f"has no effect with scheduler {scheduler or 'local'!r}",
            where=option,
            hint="give --scheduler tls://HOST:PORT, or leave it out",
        )
    use_certificates(given.get("tls_ca"), given.get("tls_cert"), given.get("tls_key"))


def _certificate_option(name: str, what: str) -> Callable[[Any], Any]:
    return click.option(
        f"--tls-{name}",
        metavar="FILE",
        type=click.Path(exists=True, dir_okay=False),
        expose_value=False,
        callback=_certificate,
        help=f"For tls:// schedulers: {what} (PEM).",
    )


#: credentials for a tls:// scheduler; a command with these options calls :func:`use_certificates`
certificates = together(
    _certificate_option("ca", "the authority's certificate"),
    _certificate_option("cert", "your certificate"),
    _certificate_option("key", "its key"),
)


def file_kinds(command: Command) -> Command:
    """``--format``, ``--header``, ``--delimiter`` and the other options that describe files."""
    from distkern.data.formats._files import COMPRESSIONS
    from distkern.data.formats.base import FORMATS

    listed = "; ".join(f"{kind.name}: {' '.join(kind.extensions)}" for kind in FORMATS.values())
    said = f"Format of files without a known ending ({listed}; text also {' '.join(COMPRESSIONS)})."
    return together(
        click.option(
            "--header/--no-header",
            default=None,
            help="Whether CSV files start with column names.  [default: detected]",
        ),
        click.option(
            "--delimiter",
            metavar="MARK",
            callback=read_by(lambda mark: {"\\t": "\t"}.get(mark, mark)),
            help="Delimiter of CSV files: one character, or whitespace for runs of blanks and tabs.  "
            "[default: detected and reported]",
        ),
        click.option(
            "--decimal",
            type=click.Choice([".", ","]),
            help="Decimal mark of numbers in CSV files.  [default: detected and reported]",
        ),
        click.option(
            "--no-quotes",
            is_flag=True,
            default=None,
            help="Treat quotation marks in CSV files as text, and each line as a row.",
        ),
        click.option("--escape", metavar="MARK", help="Escape character of CSV files, such as \\."),
        click.option(
            "--comment", metavar="MARK", help="Skip lines of CSV files that begin with MARK, such as '#'."
        ),
        click.option(
            "--skip-lines",
            metavar="N",
            type=click.IntRange(min=0),
            help="Skip the first N lines of each CSV file, before the header.",
        ),
        click.option(
            "--encoding",
            metavar="NAME",
            help="Encoding of CSV files, such as cp1252, latin-1 or utf-16.  [default: UTF-8]",
        ),
        click.option(
            "--zero-based/--one-based",
            default=None,
            help="Whether indices of svmlight files start at 0 or 1.  [default: detected, or the model's]",
        ),
        click.option("--format", type=click.Choice(list(FORMATS)), help=said),
    )(command)


def taking_several(option: str) -> type[click.Command]:
    """A command class whose ``option`` takes all words up to the next option, as ``--test a.csv b.csv``.

    Otherwise the second file would become an argument of the command.
    """

    class Several(click.Command):
        def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
            expanded: list[str] = []
            position = 0
            while position < len(args):
                argument = args[position]
                position += 1
                if argument != option:
                    expanded.append(argument)
                    continue
                stop = position
                while stop < len(args) and not args[stop].startswith("-"):
                    stop += 1
                values = args[position:stop]
                expanded += [part for value in values for part in (option, value)] or [option]
                position = stop
            return super().parse_args(ctx, expanded)

    return Several


class JobCommand(click.Command):
    """A command on a job; its help lists the hyperparameters of the algorithm named before ``--help``."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from distkern.cli.algorithms import facts_of, in_words

        super().format_epilog(ctx, formatter)
        name = ctx.params.get("algorithm")
        if name is not None:
            words = in_words(facts_of(name)[name])
            rows = [(f"{key}=", f"{meaning} ({values})") for key, (values, meaning) in words.items()]
            with formatter.section(f"Hyperparameters of {name}, for --set"):
                formatter.write_dl(rows)


#: where tasks run
scheduling = together(
    click.option(
        "--scheduler",
        metavar="WHERE",
        callback=read_by(check_scheduler),
        help="synchronous, threads, processes, local (worker processes here), tcp://HOST:PORT or "
        "tls://HOST:PORT.  [default: local; threads for few rows, except in tune]",
    ),
    click.option(
        "--workers", type=click.IntRange(min=1), metavar="N", help="Number of threads or processes here."
    ),
    memory_limit(),
    certificates,
)

dashboard = click.option(
    "--dashboard/--no-dashboard",
    default=None,
    help="Serve Dask's dashboard.  [default: for local workers only]",
)


#: bytes of rows that are processed sooner than worker processes start
_FEW_BYTES = 16 * 2**20


def scheduler_for(n_bytes: int | None, *, anything_given: bool) -> str:
    """Return the default scheduler of a command.

    Parameters
    ----------
    n_bytes : size of all rows; None if unknown
    anything_given : whether an option sets the number of workers, a memory limit or a dashboard
    """
    return "local" if anything_given or n_bytes is None or n_bytes > _FEW_BYTES else "threads"


def where_to_run(n_bytes: int | None, scheduler: str | None, **limits: Any) -> dict[str, Any]:
    """Return arguments for functions of :mod:`distkern.runs`, from :data:`scheduling` and the rows' size."""
    use_certificates(scheduler)
    check_workers(scheduler, limits.get("workers"))
    anything_given = any(value is not None for value in limits.values())
    return {"scheduler": scheduler or scheduler_for(n_bytes, anything_given=anything_given), **limits}


#: a job file and the flags that override it
job = together(
    click.argument("job_file", metavar="[JOB.toml]", required=False, type=PLACE),
    click.option("--data", metavar="D.zarr", help="The sharded data set, a folder or a URL."),
    click.option(
        "--algorithm",
        metavar="NAME",
        # before --help, which then lists its hyperparameters
        is_eager=True,
        help="For instance cells or csvrg; add --help to list its hyperparameters.  [default: auto, which "
        "chooses one for the data]",
    ),
    click.option("--out", metavar="M", help="Folder or URL of the model."),
    click.option(
        "--set", "settings", multiple=True, metavar="NAME=VALUE", help="Set a hyperparameter; repeatable."
    ),
    click.option(
        "--seed",
        type=click.IntRange(0, 2**32 - 1),
        metavar="N",
        help="Seed of every random choice.  [default: 0]",
    ),
    scheduling,
)
