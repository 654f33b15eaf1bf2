"""Checkpoints: a solver's state after a stage, whole or absent."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import CorruptDataError, InputError
from distkern.core.sparse import SparseRows, from_arrays, to_arrays
from distkern.core.version import __version__
from distkern.data.store.arrays import array_names, check_arrays, load_arrays, save_arrays
from distkern.data.store.atomic import temporary_folder
from distkern.data.store.description import as_read, described, fingerprint, json_object
from distkern.data.store.parts import ArrayParts, SlicedParts
from distkern.data.store.places import Place, is_whole, remove_tree
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
