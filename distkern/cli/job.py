"""What to train, on which data, where: a job file, the flags that override it, and its estimator."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationError,
    field_validator,
)

from distkern.choose.tuning.space import SearchTable
from distkern.cli import options
from distkern.cli.algorithms import CHOSEN
from distkern.core.errors import InputError, belongs_to, foreign, unknown_name
from distkern.core.parameters import parse_bytes
from distkern.data.dataset import open_dataset
from distkern.data.manifest import shard_command
from distkern.data.store.places import Place, place_of

if TYPE_CHECKING:
    from distkern.data.dataset import Dataset
    from distkern.runs.recipe import Recipe

#: algorithms without kernels of rows or without targets, which have no learned metric
_WITHOUT_METRIC = {"simba", "dsg_novelty", "dsg_density_ratio"}
#: hint for several values of a hyperparameter
_TO_TRY = "values to try stand in the table [search.params] of a job file for `distkern tune`"


def _search_table(given: Any) -> Any:
    return SearchTable.of_table(given, "the job") if isinstance(given, dict) else given


class Job(BaseModel):
    """A training job; the fields are the top-level keys of a job file.

    Attributes
    ----------
    algorithm : name of an algorithm; "auto" chooses one for the data
    data : the sharded data set, a folder or a URL
    out : folder or URL of the model
    seed : seed of all random choices
    scheduler : "synchronous", "threads", "processes", "local", or a tcp:// or tls:// address
    workers : number of threads or processes (None: one per core)
    memory_limit : bytes of one worker (None: an equal share of this machine's memory)
    params : hyperparameters
    search : the search of `distkern tune`
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    algorithm: str = CHOSEN
    data: str
    out: str | None = None
    seed: int = Field(default=0, ge=0, lt=2**32)
    scheduler: str = "local"
    workers: int | None = Field(default=None, ge=1)
    memory_limit: int | None = Field(default=None, ge=1)
    params: dict[str, Any] = Field(default_factory=dict)
    search: Annotated[SearchTable | None, BeforeValidator(_search_table)] = None
    #: hyperparameters that a file sets -> the file, for messages
    _files: dict[str, str] = PrivateAttr(default_factory=dict)

    def place(self, hyperparameter: str) -> str:
        """Return where a hyperparameter is set, for messages."""
        file = self._files.get(hyperparameter)
        return (
            f"hyperparameter {hyperparameter!r}" if file is None else f"{file}, [params], {hyperparameter!r}"
        )

    @property
    def model_folder(self) -> Place:
        """The model's folder.

        Raises
        ------
        InputError
            If the job does not name one.
        """
        if self.out is None:
            raise InputError("no folder for the model given", where="--out", hint="add --out M")
        return place_of(self.out)

    @field_validator("memory_limit", mode="before")
    @classmethod
    def _bytes(cls, value: object) -> object:
        return parse_bytes(str(value)) if isinstance(value, str) or type(value) is int else value

    @field_validator("data", "out")
    @classmethod
    def _place(cls, value: str | None) -> str | None:
        if value is not None:
            place_of(value)
        return value

    @field_validator("scheduler")
    @classmethod
    def _scheduler(cls, value: str) -> str:
        return options.check_scheduler(value)


def parse_settings(settings: Sequence[str]) -> dict[str, Any]:
    """Parse ``--set name=value`` arguments; values are TOML, and bare words are strings.

    Raises
    ------
    InputError
        If an argument is not ``name=value``, or a name is set twice.
    """
    values: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        name = name.strip()
        if not equals or not name.isidentifier():
            named = name if name.isidentifier() else "gamma"
            raise InputError(
                f"{setting!r} is not name=value", where="--set", hint=f"write --set {named}=VALUE"
            )
        if name in values:
            raise InputError(f"{name!r} is set twice", where="--set", hint="keep one")
        values[name] = _toml_value(text.strip())
        if isinstance(values[name], str) and "," in text:
            raise InputError(
                f"{setting!r} has several values",
                where="--set",
                hint=f"write --set before each NAME=VALUE; {_TO_TRY}",
            )
    return values


_OPEN_NUMBER = re.compile(r"[-+]?(\d+\.|\.\d+)([eE][-+]?\d+)?")


def _toml_value(text: str) -> Any:
    try:
        parsed = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        # TOML requires digits on both sides of the point
        return float(text) if _OPEN_NUMBER.fullmatch(text) else text
    # a line break in the text would start another key
    return parsed["value"] if len(parsed) == 1 else text


def read_job(path: Place) -> dict[str, Any]:
    """Return the unchecked keys of a job file; :class:`InputError` if it is not a TOML file."""
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8"))
    except FileNotFoundError:
        hint = "write --set before each NAME=VALUE" if "=" in str(path) else "give the path of a job file"
        raise InputError("no such file", where=str(path), hint=hint) from None
    except IsADirectoryError:
        from distkern.data.ingest import is_dataset

        hint = "leave it out, or give the path of a job file"
        if is_dataset(path):
            hint = f"give the data set as --data {shlex.quote(str(path))}"
        raise InputError("is a folder, not a job file", where=str(path), hint=hint) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        hint = "correct it there"
        if path.name.partition(".")[2] != "toml":
            hint = f"give a job file, or turn a file of rows into a data set first: `{shard_command(path)}`"
        raise InputError(f"is not a TOML file: {error}", where=str(path), hint=hint) from None


def resolve_job(path: Place | None, flags: Mapping[str, Any], settings: Sequence[str] = ()) -> Job:
    """Return the job of a file, overridden by flags other than None and by ``--set``.

    Raises
    ------
    InputError
        For an unknown key (with the nearest known one), or a value of the wrong type or out of range; the
        message names the file and key, or the option.
    """
    flagged = parse_settings(settings)
    keys = {} if path is None else read_job(path)
    where = "command line" if path is None else str(path)
    for name in keys:
        if name not in Job.model_fields:
            error = unknown_name("key", name, Job.model_fields)
            raise InputError(error.what, where=where, hint=error.hint)
    if not isinstance(keys.get("params", {}), dict):
        raise InputError(
            "key 'params' is not a table", where=where, hint="write [params] and one name = value per line"
        )
    given = {name: value for name, value in flags.items() if value is not None}
    merged = keys | given
    merged["params"] = keys.get("params", {}) | flagged
    if "search" in keys:
        merged["search"] = SearchTable.of_table(keys["search"], where)
    if "data" not in merged:
        raise InputError(
            "no data set given",
            where=None if path is None else where,
            hint='add --data D.zarr, or data = "D.zarr" in a job file',
        )
    try:
        job = Job(**merged)
    except (ValidationError, InputError) as error:
        raise _explain(error, where, given) from None
    if path is not None:
        job._files.update({name: where for name in keys.get("params", {}) if name not in flagged})
    # checked now: importing the estimators takes seconds
    try:
        _refuse_unknown_names(job)
    except InputError as error:
        if path is None or settings:
            raise
        raise _explain(error, where, given) from None
    # a job file with a number of local workers may be sent to a scheduler elsewhere
    if "scheduler" not in given or "workers" in given:
        at = "--workers" if "workers" in given else f"{where}, key 'workers'"
        options.check_workers(job.scheduler, job.workers, at)
    options.use_certificates(job.scheduler)
    return job


def _refuse_unknown_names(job: Job) -> None:
    """Refuse an unknown algorithm or hyperparameter, with the nearest known name."""
    from distkern.core.common_parameters import CHOOSABLE
    from distkern.solvers.base import SOLVERS

    known = _names_of(job.algorithm)
    searched = {} if job.search is None else job.search.params
    if "random_state" in {**job.params, **searched}:
        raise InputError(
            "is set by the seed",
            where="hyperparameter 'random_state'",
            hint="use --seed, or seed = ... in the job file",
        )
    if "n_jobs" in {**job.params, **searched}:
        raise InputError(
            "is a parameter of the Python estimators",
            where="hyperparameter 'n_jobs'",
            hint="use --workers, or workers = ... in the job file",
        )
    unknown = [name for name in (*job.params, *searched) if name not in known]
    if unknown and job.algorithm != CHOSEN:
        owners = [algorithm for algorithm in SOLVERS if unknown[0] in _names_of(algorithm)]
        error = unknown_name(f"hyperparameter of {job.algorithm}", unknown[0], known)
        if owners:
            raise InputError(error.what, hint=belongs_to(owners))
        raise error
    for name in unknown:
        owners = [algorithm for algorithm in SOLVERS if name in _names_of(algorithm)]
        if name in job.params and not set(CHOOSABLE).isdisjoint(owners):
            continue
        if owners:
            raise InputError(
                "belongs to some algorithms only, and none is named",
                where=f"hyperparameter {name!r}",
                hint=f"add --algorithm with one of {', '.join(owners)}",
            )
        error = unknown_name("hyperparameter", name, known.union(*map(_names_of, CHOOSABLE)))
        raise InputError(error.what, hint=foreign(name, known) or error.hint)


def _names_of(algorithm: str) -> set[str]:
    """Return the hyperparameters of an algorithm; :class:`InputError` if it is unknown."""
    from distkern.core.common_parameters import CHOICE
    from distkern.solvers.base import SOLVERS
    from distkern.solvers.hyperparameters import hyperparameters_of

    if algorithm == CHOSEN:
        return {*CHOICE, "probability", "class_weight", "threshold", "dtype"}
    solver = SOLVERS.get(algorithm)
    if solver is None:
        raise unknown_name("algorithm", algorithm, [*SOLVERS, CHOSEN])
    metric = set() if algorithm in _WITHOUT_METRIC else {"metric"}
    return {*hyperparameters_of(solver), "class_weight", "threshold", "scale", "dtype"} | metric


def _explain(error: ValidationError | InputError, where: str, given: Mapping[str, Any]) -> InputError:
    if isinstance(error, InputError):
        return error if error.where else InputError(error.what, where=where, hint=error.hint)
    first = error.errors()[0]
    name = str(first["loc"][0])
    cause = first.get("ctx", {}).get("error")
    what = str(cause) if isinstance(cause, InputError) else f"{first['input']!r}: {first['msg'].lower()}"
    place = f"--{name.replace('_', '-')}" if name in given else f"{where}, key {name!r}"
    return InputError(what, where=place, hint=None if isinstance(cause, InputError) else "correct the value")


def make_estimator(job: Job) -> Any:
    """Return the unfitted estimator of a job; raises as :func:`make_recipe`."""
    estimator = _unchecked(job)
    _checked(job, estimator)
    return estimator


def make_recipe(job: Job) -> Recipe:
    """Return the recipe of a job.

    Raises
    ------
    InputError
        For an unknown algorithm or hyperparameter (with the nearest known name), or a value out of range.
    """
    return _checked(job, _unchecked(job))


def _unchecked(job: Job) -> Any:
    """Return the estimator of a job; refuse unknown names."""
    _refuse_unknown_names(job)
    estimator_type = _estimator_type(job)
    parameters = estimator_type.hyperparameters
    given, settings = dict(job.params), {}
    if job.algorithm == CHOSEN:
        settings = {name: given.pop(name) for name in job.params if name not in parameters}
    for name in given:
        if name not in parameters:
            raise unknown_name(f"hyperparameter of {estimator_type.__name__}", name, parameters)
    # TOML has no null
    params = {
        name: None if value in ("none", "None") and parameters[name].can_be_none else value
        for name, value in given.items()
    }
    if settings:
        params["settings"] = {
            name: None if value in ("none", "None") else value for name, value in settings.items()
        }
    if "memory_limit" in parameters:
        params = {"memory_limit": job.memory_limit, **params}
    return estimator_type(**params, random_state=job.seed)


def _checked(job: Job, estimator: Any) -> Recipe:
    """Return the recipe of an estimator; refuse values out of range."""
    try:
        recipe: Recipe = estimator.recipe()
        recipe.check()
    except InputError as error:
        is_own = error.where in {*estimator.hyperparameters, *job.params}
        where = job.place(str(error.where)) if is_own else "--set or [params]"
        hint = error.hint
        if hint is None and isinstance(job.params.get(str(error.where)), list):
            hint = _TO_TRY
        raise InputError(error.what, where=where, hint=hint) from None
    return recipe


def _estimator_type(job: Job) -> type[Any]:
    """Return the algorithm's regressor if the data set is for regression and there is one."""
    from distkern.runs.algorithms import algorithm

    try:
        task = open_dataset(job.data).task
    except InputError:
        # reported when the data set is opened
        task = "classification"
    regressor = algorithm(f"{job.algorithm}_regressor") if task == "regression" else None
    found = regressor or algorithm(job.algorithm)
    assert found is not None, "every solver has an estimator of its name"
    return found


def prepare(job: Job) -> tuple[Recipe, Dataset]:
    """Return the recipe of a job and its data set.

    Raises
    ------
    InputError
        As :func:`make_recipe`; if the data set cannot be opened or is for another task.
    """
    dataset = open_dataset(job.data)
    recipe = make_recipe(job)

    from distkern.runs.data import check_task

    check_task(dataset, recipe.task)
    return recipe, dataset


def placed(job: Job, dataset: Dataset, dashboard: bool | None) -> Job:
    """Return the job, on threads of this process if its data set is small and no scheduler is given."""
    if "scheduler" in job.model_fields_set:
        return job
    anything_given = bool(dashboard or job.model_fields_set & {"workers", "memory_limit"})
    n_bytes = sum(split.n_rows * split.row_bytes for split in (dataset.train, dataset.test) if split)
    return job.model_copy(update={"scheduler": options.scheduler_for(n_bytes, anything_given=anything_given)})
