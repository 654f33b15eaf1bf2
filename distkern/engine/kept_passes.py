"""Results of the long passes of a stage, kept until its checkpoint: a killed run repeats none of them.

A pass is a value, and its result follows from this value and the data alone. So the key of a result is a
digest of its pass. Another pass, for instance of a newer distkern, finds nothing.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from hashlib import sha256
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import DistkernError
from distkern.data.store.parts import ArrayParts
from distkern.data.store.places import remove_tree
from distkern.engine.checkpoint import RunWorkplace
from distkern.passes import Extent, Reduce

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
