"""Checkpoints: a solver's state after a stage, whole or absent."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from distkern.core.errors import CorruptDataError, InputError
from distkern.core.sparse import SparseRows, from_arrays, to_arrays
from distkern.storage.arrays import load_arrays, save_arrays

State = TypeVar("State")

_KEPT = 2
_FORMAT = 1
_NAME = re.compile(r"stage-(\d{5})")


@dataclass(frozen=True)
class Checkpoint:
    """A restored checkpoint: the state, the lines of metrics so far and the counters of the run."""

    stage: int
    state: Any
    history: list[dict[str, Any]]
    counters: dict[str, float]


class CheckpointFolder:
    """The folder ``checkpoints/`` of a run.

    Parameters
    ----------
    path : the folder
    identity : what a resumed run must have in common with this one: fingerprint of the data, the job's
        parameters; compared key by key
    """

    def __init__(self, path: Path, identity: dict[str, Any]) -> None:
        self.path = path
        self._identity: dict[str, Any] = json.loads(json.dumps(identity))

    def stages(self) -> list[int]:
        """Stages with a checkpoint, in order."""
        if not self.path.is_dir():
            return []
        found = (_NAME.fullmatch(entry.name) for entry in self.path.iterdir())
        return sorted(int(match[1]) for match in found if match)

    def save(self, stage: int, state: Any, history: list[dict[str, Any]], counters: dict[str, float]) -> Path:
        """Write the checkpoint of a stage; older ones but the last are removed once it is safe on disk."""
        arrays: dict[str, np.ndarray] = {}
        scalars: dict[str, Any] = {}
        for field in dataclasses.fields(state):
            value = getattr(state, field.name)
            if isinstance(value, np.ndarray | SparseRows):
                arrays |= to_arrays(f"state.{field.name}", value)
            else:
                scalars[field.name] = value
        header = {
            "format": _FORMAT,
            "stage": stage,
            "identity": self._identity,
            "scalars": scalars,
            "history": history,
            "counters": counters,
        }
        # the header is an array too, so that the checkpoint is one atomic, checksummed unit
        arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
        path = self.path / f"stage-{stage:05d}"
        self.path.mkdir(parents=True, exist_ok=True)
        save_arrays(path, arrays)
        for old in self.stages()[:-_KEPT]:
            shutil.rmtree(self.path / f"stage-{old:05d}", ignore_errors=True)
        return path

    def load(self, state_type: type[State]) -> Checkpoint | None:
        """The newest checkpoint that can be read, or None if there is none.

        Raises
        ------
        InputError
            If it belongs to other data or another job.
        CorruptDataError
            If there are checkpoints and none can be read.
        """
        problem: CorruptDataError | None = None
        for stage in reversed(self.stages()):
            path = self.path / f"stage-{stage:05d}"
            try:
                arrays = load_arrays(path)
            except CorruptDataError as error:
                problem = error
                continue
            header = json.loads(arrays.pop("header").tobytes())
            self._compare(header, path)
            # state.landmarks, or of sparse landmarks state.landmarks.data and its fellows
            names = {name.split(".")[1] for name in arrays}
            values = {name: from_arrays(f"state.{name}", arrays) for name in names}
            state = state_type(**values, **header["scalars"])
            return Checkpoint(header["stage"], state, header["history"], header["counters"])
        if problem is not None:
            raise problem
        return None

    def newest_header(self) -> dict[str, Any] | None:
        """What the newest readable checkpoint says of itself, without comparing identities."""
        for stage in reversed(self.stages()):
            try:
                arrays = load_arrays(self.path / f"stage-{stage:05d}")
            except CorruptDataError:
                continue
            header: dict[str, Any] = json.loads(arrays["header"].tobytes())
            return header
        return None

    def _compare(self, header: dict[str, Any], path: Path) -> None:
        if header["format"] > _FORMAT:
            raise InputError(
                f"written by a newer version (format {header['format']})",
                where=str(path),
                mend="upgrade distkern",
            )
        for key in sorted(self._identity.keys() | header["identity"].keys()):
            then, now = header["identity"].get(key), self._identity.get(key)
            if then != now:
                raise InputError(
                    f"the run was started with another {key} ({_short(then)}) than now ({_short(now)})",
                    where=str(self.path.parent),
                    mend="resume with the same data and job, or train to another folder",
                )

    def remove(self) -> None:
        """Remove the folder, once the model is safe."""
        shutil.rmtree(self.path, ignore_errors=True)


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else text[:37] + "..."
