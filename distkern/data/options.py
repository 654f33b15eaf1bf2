"""The options of a data set that is made of files, frames or generated rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeAlias, get_args

from distkern.core.errors import InputError, invalid_value, unknown_name
from distkern.core.names import written
from distkern.data.columns._reading import OPTIONS, Remedies
from distkern.data.formats._kinds import TableKinds
from distkern.data.formats.base import FileForm
from distkern.data.scaling import KINDS, ScalingKind, refuse_for_sparse

Task: TypeAlias = Literal["classification", "regression", "none"]
TASKS: tuple[Task, ...] = get_args(Task)
Impute: TypeAlias = Literal["mean", "median", "flag", "none"]
IMPUTE: tuple[Impute, ...] = get_args(Impute)
CATEGORICAL = ("onehot", "target", "signs", "drop")

#: options that a manifest keeps, and options on columns of tables
_STORED = ("task", "positive", "scale", "test_fraction", "rows_per_shard", "shuffle", "seed", "sparse")
_ON_COLUMNS = ("impute", "categorical", "drop", "weight", "id", "na", "group", "keep_na", "text", "day_first")


@dataclass(frozen=True, kw_only=True)
class ShardOptions(FileForm):
    """Options of ``distkern shard`` besides the form of files; values out of range raise :class:`InputError`.

    Attributes
    ----------
    task : "classification" (labels), "regression" (numbers) or "none"; None: the task of ``like``, else
        "classification"
    positive : this label against all others; classes are then ("not V", "V")
    scale : scaling of features, see :class:`distkern.data.scaling.Scaling`, fitted on training rows only.
        The default is "minmax" for dense rows (the papers scale to [0, 1] and the solvers' defaults expect
        it) and "unit" for sparse rows, whose zeros must stay zero
    drop_missing_target : leave out rows without a target
    test_fraction : share of the rows (rounded up; with groups, of these) drawn at random as test split
    rows_per_shard : default see :func:`distkern.data.writer.rows_of_a_shard`
    shuffle : store the training rows in uniformly random order; test rows keep theirs
    seed : seed of the shuffle and the drawn test rows, which depend on nothing else
    sparse : store rows sparse (True) or dense (False); None decides on the first 16 MiB, see
        :class:`distkern.data.collect.Form`
    columns : add a feature-major copy of the training rows, see :func:`distkern.data.ingest.add_columns`
    overwrite : replace the data set at ``out``, which stays until the new one is complete
    impute : replacement for missing numbers in tables: the mean of the training rows, or their median (of up
        to 100,000 of them); "flag" is the mean with a feature that marks them; "none" refuses them
    categorical : "onehot", "target", "signs" or "drop" by column name
    drop : columns to leave out
    weight : column with the weights of the training rows
    group : column with the groups of the training rows, which are held out together
    id : column with the names of the rows, not a feature, written beside predictions
    na : texts for a missing value, in the target too, in addition to common ones, or instead of them if the
        empty text is included
    keep_na : columns in which these texts, except the empty one, are ordinary values
    text : columns whose words are hashed
    day_first : whether 3/4/2024 is in April, in columns that do not show it
    format : format of files with an unknown extension
    zero_based : indices of svmlight files start at 0; None: if the first block has a 0
    """

    task: Task | None = None
    positive: str | None = None
    scale: ScalingKind | None = None
    drop_missing_target: bool = False
    test_fraction: float | None = None
    rows_per_shard: int | None = None
    shuffle: bool = True
    seed: int = 0
    sparse: bool | None = None
    columns: bool = False
    overwrite: bool = False

    impute: Impute = "mean"
    categorical: Mapping[str, str] = field(default_factory=dict)
    drop: tuple[str, ...] = ()
    weight: str | None = None
    id: str | None = None
    na: tuple[str, ...] | None = None
    group: str | None = None
    keep_na: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    day_first: bool | None = None

    format: str | None = None
    zero_based: bool | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.positive is not None:
            object.__setattr__(self, "positive", written(self.positive))
        # accept lists, and sort the words of sets
        for name in ("drop", "keep_na", "text"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        na = tuple(sorted({word.strip() for word in self.na or ()}))
        object.__setattr__(self, "na", na or None)
        self._check_rows()
        self._check_columns()

    def _check_rows(self) -> None:
        if self.task not in (None, *TASKS):
            raise unknown_name("task", str(self.task), TASKS)
        if self.scale is not None:
            if self.scale not in KINDS:
                raise unknown_name("scaling", self.scale, KINDS)
            if self.sparse:
                refuse_for_sparse(self.scale)
        if self.positive is not None and self.task in ("regression", "none"):
            raise InputError("only classes have a positive label", where="--positive", hint="leave it out")
        if self.drop_missing_target and self.task == "none":
            raise InputError(
                "--task none reads no target", where="--drop-missing-target", hint="leave it out"
            )
        if self.test_fraction is not None and not 0 < self.test_fraction < 1:
            raise invalid_value("--test-fraction", self.test_fraction, "between 0 and 1, such as 0.2")
        if self.rows_per_shard is not None and self.rows_per_shard < 1:
            raise invalid_value("--rows-per-shard", self.rows_per_shard, "an integer >= 1, such as 10000")
        if self.seed < 0:
            raise invalid_value("--seed", self.seed, "an integer >= 0")

    def _check_columns(self) -> None:
        for name in self.text:
            if name in self.categorical or name in self.left_out:
                where = f"--text {name}"
                raise InputError("the column has another role too", where=where, hint="give one of them")
        if self.impute not in IMPUTE:
            raise unknown_name("filling of missing values", self.impute, IMPUTE)
        for word in self.categorical.values():
            if word not in CATEGORICAL:
                raise unknown_name("encoding of categories", word, CATEGORICAL)

    @property
    def on_columns(self) -> dict[str, Any]:
        """Options on table columns that differ from their defaults."""
        usual = ShardOptions()
        given = {name: getattr(self, name) for name in _ON_COLUMNS}
        return {name: value for name, value in given.items() if value != getattr(usual, name)}

    @property
    def on_files(self) -> dict[str, Any]:
        """Options on the form of files."""
        return {one.name: getattr(self, one.name) for one in fields(FileForm)}

    @property
    def stored(self) -> dict[str, Any]:
        """Options that a manifest keeps."""
        return {name: getattr(self, name) for name in _STORED}

    @property
    def left_out(self) -> tuple[str, ...]:
        """Columns without features."""
        own = () if self.id is None else (self.id,)
        return (*self.drop, *own, *(name for name, word in self.categorical.items() if word == "drop"))

    @property
    def ignored(self) -> tuple[str, ...]:
        """Columns that later tables may lack."""
        return (*self.left_out, *(name for name in (self.weight, self.group) if name is not None))

    def kinds(self, remedies: Remedies = OPTIONS) -> TableKinds:
        """Return a reader of the tables."""
        said = {name: "category" for name, word in self.categorical.items() if word != "drop"}
        return TableKinds(
            said | dict.fromkeys(self.text, "text"),
            refuses_missing=self.impute == "none",
            na=self.na,
            keep_na=self.keep_na,
            day_first=self.day_first,
            remedies=remedies,
        )
