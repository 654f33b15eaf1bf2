"""Checkpoints: a solver's state after a stage, whole or absent, and results of the long passes since.

A pass is a value, and its result follows from this value and the data alone. So the key of a kept result is a
digest of its pass. Another pass, for instance of a newer distkern, finds nothing.
"""

from __future__ import annotations

import dataclasses
import json
import pickle
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, fields, is_dataclass
from hashlib import sha256
from itertools import chain
from typing import Any, Self, TypeVar
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import CorruptDataError, DistkernError, InputError
from distkern.core.sparse import SparseRows, from_arrays, to_arrays
from distkern.core.version import __version__
from distkern.data.store.arrays import array_names, check_arrays, load_arrays, save_arrays
from distkern.data.store.atomic import temporary_folder
from distkern.data.store.description import as_read, described, fingerprint, json_object
from distkern.data.store.parts import ArrayParts, SlicedParts
from distkern.data.store.places import Place, is_whole, remove_tree
from distkern.passes import Extent, Reduce
from distkern.passes.rounds import Saved

State = TypeVar("State")

_KEPT = 2
_FORMAT = 4
_NAME = re.compile(r"stage-(\d{5,})")


@dataclass(frozen=True)
class Checkpoint:
    """A restored checkpoint: state, metrics so far, counters and resident states of the run."""

    stage: int
    state: Any
    history: list[dict[str, Any]]
    counters: dict[str, float]
    residents: dict[str, Saved] = field(default_factory=dict)


@dataclass(frozen=True)
class CheckpointHeader:
    """The header of a checkpoint."""

    stage: int
    identity: dict[str, Any]
    scalars: dict[str, Any]
    history: list[dict[str, Any]]
    counters: dict[str, float]
    residents: list[str]


class SavedGroups(Mapping[int, dict[str, "NDArray[Any]"]]):
    """The saved arrays of a resident state, by group; each group is read on demand."""

    def __init__(self, path: Place, position: int, names: Iterable[str]) -> None:
        self._path = path
        self._prefix = f"resident.{position}."
        self._names: dict[int, list[str]] = {}
        for name in names:
            if name.startswith(self._prefix):
                self._names.setdefault(int(name.split(".")[2]), []).append(name)

    def __getitem__(self, group: int) -> dict[str, NDArray[Any]]:
        arrays = load_arrays(self._path, self._names[group])
        return {name.split(".", 3)[3]: values for name, values in arrays.items()}

    def __iter__(self) -> Iterator[int]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class CheckpointFolder:
    """The folder ``checkpoints/`` of a run.

    Parameters
    ----------
    path : the folder
    identity : fingerprint of the data and parameters of the job, which a resumed run must share; compared
        key by key
    """

    def __init__(self, path: Place, identity: dict[str, Any]) -> None:
        self.path = path
        self.identity: dict[str, Any] = as_read(identity)

    def stages(self) -> list[int]:
        """Return the stages with a checkpoint, in order."""
        if not self.path.is_dir():
            return []
        found = ((entry, _NAME.fullmatch(entry.name)) for entry in self.path.iterdir())
        return sorted(int(match[1]) for entry, match in found if match and is_whole(entry))

    def save(
        self,
        stage: int,
        state: Any,
        history: list[dict[str, Any]],
        counters: dict[str, float],
        residents: Mapping[str, Iterable[tuple[int, dict[str, NDArray[Any]]]]] | None = None,
    ) -> Place:
        """Write the checkpoint of a stage, then remove all older ones but the last.

        ``residents`` has the groups of each resident state, which are written one at a time.
        """
        residents = residents or {}
        arrays: dict[str, np.ndarray] = {}
        scalars: dict[str, Any] = {}
        for part in dataclasses.fields(state):
            value = getattr(state, part.name)
            if isinstance(value, np.ndarray | SparseRows):
                arrays |= to_arrays(f"state.{part.name}", value)
            else:
                scalars[part.name] = value
        header = {
            "format": _FORMAT,
            "stage": stage,
            "identity": self.identity,
            "scalars": scalars,
            "history": history,
            "counters": counters,
            "residents": list(residents),
        }
        # stored as an array, so that the checkpoint is one atomic, checksummed unit
        arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
        path = self.path / f"stage-{stage:05d}"
        self.path.mkdir(parents=True, exist_ok=True)
        save_arrays(path, chain(arrays.items(), _flat(residents)))
        for old in self.stages()[:-_KEPT]:
            remove_tree(self.path / f"stage-{old:05d}")
        return path

    def load(self, state_type: type[State]) -> Checkpoint | None:
        """Return the newest readable checkpoint, or None if there is none.

        Raises
        ------
        InputError
            If it belongs to other data or another job.
        CorruptDataError
            If there are checkpoints, but none can be read.
        """
        problem: CorruptDataError | None = None
        for stage in reversed(self.stages()):
            path = self.path / f"stage-{stage:05d}"
            try:
                # checked now, while an older checkpoint can replace a damaged one
                check_arrays(path)
                header = _header(path)
                names = [name for name in array_names(path) if name.startswith("state.")]
                arrays = load_arrays(path, names)
            except CorruptDataError as error:
                problem = error
                continue
            self._compare(header, path)
            # state.landmarks; for sparse landmarks state.landmarks.data and so on
            fields = {name.split(".")[1] for name in arrays}
            values = {name: from_arrays(f"state.{name}", arrays) for name in fields}
            state = state_type(**values, **header.scalars)
            residents = self.residents(header.stage)
            return Checkpoint(header.stage, state, header.history, header.counters, residents)
        if problem is not None:
            raise problem
        return None

    def residents(self, stage: int) -> dict[str, Saved]:
        """Return the resident states in the checkpoint of a stage."""
        path = self.path / f"stage-{stage:05d}"
        names = array_names(path)
        states = _header(path).residents
        return {state: SavedGroups(path, position, names) for position, state in enumerate(states)}

    def newest_header(self) -> CheckpointHeader | None:
        """Return the header of the newest readable checkpoint, without comparing identities."""
        for stage in reversed(self.stages()):
            try:
                return _header(self.path / f"stage-{stage:05d}")
            except CorruptDataError:
                continue
        return None

    def check(self) -> None:
        """Raise :class:`InputError` if the newest checkpoint belongs to other data or another job."""
        header = self.newest_header()
        if header is not None:
            self._compare(header, self.path)

    def _compare(self, header: CheckpointHeader, path: Place) -> None:
        for key in sorted(self.identity.keys() | header.identity.keys()):
            then, now = header.identity.get(key), self.identity.get(key)
            if then != now:
                raise InputError(
                    f"the run was started with another {key} ({_short(then)}) than now ({_short(now)})",
                    where=str(self.path.parent),
                    hint="resume with the same data and job, or train to another folder",
                )

    def remove(self) -> None:
        """Remove the folder, once the model is safe."""
        remove_tree(self.path)


def _header(path: Place) -> CheckpointHeader:
    text = load_arrays(path, ["header"])["header"].tobytes()
    try:
        content = json_object(text)
        version = content.get("format")
        if version != _FORMAT:
            raise InputError(
                f"a checkpoint in format {version}, and this distkern reads {_FORMAT}",
                where=str(path),
                hint="continue with the distkern that wrote it, or train to another folder",
            )
        return described(CheckpointHeader, content)
    except InputError:
        raise
    except ValueError as error:
        again = "remove this checkpoint, or train from the beginning in another folder"
        raise CorruptDataError(f"the checkpoint is damaged ({error})", where=str(path), hint=again) from None


def _flat(
    residents: Mapping[str, Iterable[tuple[int, dict[str, NDArray[Any]]]]],
) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the arrays of all groups under their names in a checkpoint, and free each afterwards."""
    for position, groups in enumerate(residents.values()):
        for group, arrays in groups:
            # the resident may keep its mapping
            arrays = dict(arrays)
            while arrays:
                name = next(iter(arrays))
                yield f"resident.{position}.{group}.{name}", arrays.pop(name)


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else text[:37] + "..."


class RunWorkplace:
    """Stores in a run's folder, or in a folder in ``TMPDIR`` that is removed when the context closes.

    Parameters
    ----------
    checkpoints : the run's checkpoints, beside which results are stored; results of a run with another
        identity are ignored. None: a temporary folder, created on first use

    Attributes
    ----------
    stays : whether stored results outlive the context
    """

    def __init__(self, checkpoints: CheckpointFolder | None) -> None:
        self._folder = None if checkpoints is None else checkpoints.path.parent
        self.stays = checkpoints is not None
        # another version may store other numbers under the same names
        versions = {"distkern-version": __version__, "numpy-version": np.__version__}
        self._of = "" if checkpoints is None else fingerprint({**checkpoints.identity, **versions})
        self._stack = ExitStack()

    def arrays(self, name: str) -> ArrayParts:
        """See :class:`~distkern.core.stores.Workplace`."""
        return ArrayParts(self._place / name, f"{self._of}/{name}", stays=self.stays)

    def slices(self, name: str, layout: Mapping[str, tuple[str, tuple[int, ...]]]) -> SlicedParts:
        """See :class:`~distkern.core.stores.Workplace`."""
        return SlicedParts(self._place / name, f"{self._of}/{name}", layout, stays=self.stays)

    def has(self, name: str) -> bool:
        """Return whether this run or an earlier try of it stored something under that name."""
        return self._folder is not None and (self._folder / name).is_dir()

    @property
    def _place(self) -> Place:
        if self._folder is None:
            self._folder = self._stack.enter_context(temporary_folder())
        return self._folder

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()


#: folder of these results in a run's folder
FOLDER = "passes"
#: a pass with fewer bytes or seconds is repeated
LEAST_BYTES, LEAST_SECONDS = 16 * 2**20, 10.0
#: bytes kept per second of a pass: a tenth of the speed of a slow disk
BYTES_A_SECOND = 10 * 2**20


class KeptPasses:
    """The kept results of a run, by the keys of their passes.

    Parameters
    ----------
    workplace : the run's; results of other data or another job are ignored
    """

    def __init__(self, workplace: RunWorkplace) -> None:
        self._workplace = workplace
        self._store: ArrayParts | None = None
        self._found: dict[str, tuple[int, Any, float]] = {}
        if workplace.has(FOLDER):
            for number, record in self._parts().records().items():
                self._found[record["key"]] = number, record["result"], record["seconds"]

    def key(self, step: Reduce[Any], extent: Extent) -> str | None:
        """Return the key of a pass; None if its result is not worth keeping or the pass has no key."""
        rows = extent.block_rows if step.blocks is None else [extent.block_rows[one] for one in step.blocks]
        if sum(rows) * extent.row_bytes < LEAST_BYTES:
            return None
        digest = _Digest()
        with suppress(Exception):
            digest.dump((step.name, step.map, step.combine, step.split, step.blocks, step.operand))
            return digest.hexdigest()
        return None

    def get(self, key: str | None) -> tuple[Any, float] | None:
        """Return the result of a pass and the seconds that it took, or None."""
        number, content, seconds = self._found.get(key or "", (None, None, 0.0))
        if number is None:
            return None
        try:
            return _unpacked(content, self._parts().load(number)), seconds
        except (DistkernError, KeyError, TypeError):
            # damaged, or of a class that no longer exists
            return None

    def put(self, key: str | None, result: Any, seconds: float) -> None:
        """Keep the result of a pass that took long."""
        if key is None or seconds < LEAST_SECONDS:
            return
        arrays: dict[str, NDArray[Any]] = {}
        try:
            record = {"key": key, "seconds": seconds, "result": _packed(result, arrays)}
        except TypeError:
            return
        if sum(values.nbytes for values in arrays.values()) > seconds * BYTES_A_SECOND:
            return
        number = 1 + max((number for number, *_ in self._found.values()), default=-1)
        # if the disk is full, the checkpoint will report it
        with suppress(DistkernError, OSError):
            self._parts().put(number, (record, arrays))
            self._found[key] = number, record["result"], seconds

    def clear(self) -> None:
        """Remove all results."""
        if self._store is not None:
            remove_tree(self._store.folder)
        self._store, self._found = None, {}

    def _parts(self) -> ArrayParts:
        if self._store is None:
            self._store = self._workplace.arrays(FOLDER)
        return self._store


class _Digest(pickle.Pickler):
    """Hashes values: equal values have equal hashes, whatever memory they share or cache."""

    def __init__(self) -> None:
        self._hash = sha256()
        super().__init__(self, protocol=5)
        # no references to earlier objects
        self.fast = True

    def write(self, data: bytes) -> int:
        self._hash.update(data)
        return len(data)

    def hexdigest(self) -> str:
        return self._hash.hexdigest()

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, np.ndarray) and not value.dtype.hasobject:
            whole = np.ascontiguousarray(value).reshape(-1).view(np.uint8)
            content = sha256(whole.data).hexdigest()
            return str, (f"{value.dtype.str} {value.shape} {content}",)
        if isinstance(value, UUID):
            # an object's identity on workers, not part of its value
            return str, ("",)
        if is_dataclass(value) and not isinstance(value, type):
            parts = [getattr(value, part.name) for part in fields(value)]
            # checkpoints turn numpy scalars into Python's numbers
            parts = [one.item() if isinstance(one, np.generic) else one for one in parts]
            return tuple, ([_name(type(value)), *parts],)
        return NotImplemented


def _packed(value: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    """Return a result as JSON, and add its arrays to ``arrays``.

    Raises :class:`TypeError` unless it consists of numbers, texts, arrays, tuples and our dataclasses.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float) and np.isfinite(value):
        return value
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        name = f"array.{len(arrays)}"
        # in memory order, since products in another order may have other bits
        in_columns = value.flags.f_contiguous and not value.flags.c_contiguous
        arrays[name] = value.T if in_columns else value
        return {"array": name, "in_columns": in_columns}
    if type(value) is tuple:
        return {"tuple": [_packed(part, arrays) for part in value]}
    kind = type(value)
    if is_dataclass(value) and all(part.init for part in fields(value)) and _class(_name(kind)) is kind:
        content = {part.name: _packed(getattr(value, part.name), arrays) for part in fields(value)}
        return {"class": _name(kind), "fields": content}
    raise TypeError(f"results of {kind} are not kept")


def _unpacked(content: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """Undo :func:`_packed`; :class:`TypeError` or :class:`KeyError` if that is impossible."""
    if not isinstance(content, dict):
        return content
    if "array" in content:
        values = arrays[content["array"]]
        return values.T if content["in_columns"] else values
    if "tuple" in content:
        return tuple(_unpacked(part, arrays) for part in content["tuple"])
    kind = _class(content["class"])
    if kind is None:
        raise TypeError(f"there is no {content['class']}")
    return kind(**{name: _unpacked(part, arrays) for name, part in content["fields"].items()})


def _name(kind: type[Any]) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


def _class(name: str) -> type[Any] | None:
    """Return a dataclass of this package by its name, from the modules imported so far, or None."""
    module, _, class_name = name.partition(":")
    kind = getattr(sys.modules.get(module), class_name, None)
    return kind if module.startswith("distkern.") and isinstance(kind, type) and is_dataclass(kind) else None
