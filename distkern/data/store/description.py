"""JSON of unknown origin: descriptions, sealed by a digest of their content and read into classes that check
each key, and the figures of a stage, lines of ``metrics.jsonl`` and of a model's history."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar, cast

from distkern.core.choices import ComparedList
from distkern.core.errors import CorruptDataError, InputError
from distkern.data.store.places import Place, read_file

if TYPE_CHECKING:
    from pydantic import TypeAdapter

Described = TypeVar("Described")

#: figures of every line of metrics, at least 0
_ALWAYS = ("stage", "passes", "seconds")
_WORDS, _LISTS = {"error", "ended"}, {"notes", "warnings"}
#: bound on figures beyond which sums and rounding fail
_LARGEST_FIGURE = 1e300


def fingerprint(content: Mapping[str, Any]) -> str:
    """Return the SHA-256 in hexadecimal of the content as ASCII JSON with sorted keys and no spaces."""
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def sealed(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content with its ``fingerprint``, as :meth:`Description.unseal` expects."""
    return {**content, "fingerprint": fingerprint(content)}


def as_read(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content after a round trip through JSON: lists for tuples, strings for keys."""
    return cast("dict[str, Any]", json.loads(json.dumps(content)))


def plain(value: Any) -> Any:
    """Return a numpy scalar as a number; None for a non-finite number."""
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def json_object(text: str | bytes) -> dict[str, Any]:
    """Parse a JSON object; :class:`ValueError` if the text is not one."""
    try:
        content = json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"it is not JSON: {error}") from None
    if not isinstance(content, dict):
        raise ValueError("it is not an object of JSON")
    return content


def described(kind: type[Described], content: Mapping[str, Any]) -> Described:
    """Build the dataclass ``kind`` from ``content``; other keys are ignored.

    Raises :class:`ValueError`, naming the first key that is missing or has the wrong type.
    """
    # imported here, as workers receive objects and never need it
    from pydantic import ValidationError

    try:
        return cast(Described, _adapter(cast(Any, kind)).validate_python(dict(content)))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        key = ".".join(map(str, first["loc"]))
        raise ValueError(f"{key or 'it'}: {first['msg'][0].lower()}{first['msg'][1:]}") from None
    except ArithmeticError as error:
        # raised by computations in the class, for instance with a size of 0
        raise ValueError(str(error)) from None


@lru_cache
def _adapter(kind: type[Any]) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def check_line(line: Mapping[str, Any]) -> None:
    """Check the metrics of a stage of unknown origin.

    Raises
    ------
    ValueError
        Naming the first key that is missing or has a value of the wrong type.
    """
    for name in _ALWAYS:
        if not _is_number(line.get(name)) or not line[name] >= 0:
            raise ValueError(f"{name}: not a number of at least 0")
    for name, value in line.items():
        if name == "candidates":
            try:
                described(ComparedList, {name: value})
            except ValueError as error:
                raise ValueError(f"candidates: {error}") from None
        elif name in _WORDS or name in _LISTS:
            texts = [value] if name in _WORDS else value
            if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
                raise ValueError(f"{name}: not a text")
        elif value is not None and not _is_number(value):
            raise ValueError(f"{name}: not a number")


def _is_number(value: Any) -> bool:
    # NaN counts: model.json has it for unknown figures
    return type(value) in (int, float) and not abs(value) > _LARGEST_FIGURE


@dataclass(frozen=True)
class Description:
    """A kind of description, identified by its first keys.

    Attributes
    ----------
    encoding : its ``encoding-type``
    noun : the described thing
    version : version that is written and read
    again : how to get a new one
    """

    encoding: str
    noun: str
    version: int
    again: str

    def seal(self, content: Mapping[str, Any]) -> dict[str, Any]:
        """Return the content with type, version and ``fingerprint``."""
        # through JSON first, as the fingerprint covers what a reader finds
        kind: Mapping[str, Any] = {"encoding-type": self.encoding, "encoding-version": self.version}
        return sealed(as_read({**kind, **content}))

    def text(self, content: Mapping[str, Any], *, ensure_ascii: bool = True) -> str:
        """Return the text of a file with the sealed content."""
        return json.dumps(self.seal(content), indent=1, ensure_ascii=ensure_ascii) + "\n"

    def load(self, file: Place) -> tuple[dict[str, Any], str]:
        """Open the file as :meth:`open` does a text.

        Raises
        ------
        FileNotFoundError
            If there is no file.
        CorruptDataError
            Also if the file cannot be read, or something else has its name.
        """
        try:
            text = read_file(file)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise self.damaged(f"it cannot be read: {error.strerror}", str(file)) from None
        return self.open(text, str(file))

    def open(self, text: str | bytes, where: str) -> tuple[dict[str, Any], str]:
        """Return the sealed content of a text, and its fingerprint; raises as :meth:`unseal`."""
        content = self.parse(text, where)
        return content, self.unseal(content, where)

    def unseal(self, content: dict[str, Any], where: str) -> str:
        """Check type, version and fingerprint; remove the fingerprint from ``content`` and return it.

        Raises :class:`InputError` if it describes something else, or another version wrote it; and
        :class:`CorruptDataError` if it was changed.
        """
        if content.get("encoding-type") != self.encoding:
            raise InputError(f"not {self.noun} of distkern", where=where, hint=self.again)
        version = content.get("encoding-version")
        if version != self.version:
            is_older = isinstance(version, int) and version < self.version
            raise InputError(
                f"written in format version {version}, and this distkern reads {self.version}",
                where=where,
                hint=self.again if is_older else "upgrade distkern",
            )
        stored = content.pop("fingerprint", None)
        if stored != fingerprint(content):
            raise self.damaged("its content does not match its fingerprint", where)
        return cast(str, stored)

    def read(self, kind: type[Described], content: Mapping[str, Any], where: str) -> Described:
        """Call :func:`described`, with a :class:`CorruptDataError` that names the place."""
        try:
            return described(kind, content)
        except ValueError as error:
            raise self.damaged(str(error), where) from None

    def parse(self, text: str | bytes, where: str) -> dict[str, Any]:
        """Call :func:`json_object`, with a :class:`CorruptDataError` that names the place."""
        try:
            return json_object(text)
        except ValueError as error:
            raise self.damaged(str(error), where) from None

    def damaged(self, why: str, where: str) -> CorruptDataError:
        """Return the error for a changed description."""
        return CorruptDataError(
            f"the description of {self.noun} is damaged ({why})", where=where, hint=self.again
        )
