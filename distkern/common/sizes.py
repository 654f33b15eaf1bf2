"""Sizes in bytes, as users write them: ``"512MiB"``."""

from __future__ import annotations

import re
from numbers import Integral
from typing import Any

from distkern.common.errors import InputError
from distkern.common.parameters import AbstractKind

_UNITS = {"": 1, "b": 1}
_UNITS |= {
    prefix + ending: base**power
    for power, prefix in enumerate("kmgt", start=1)
    for ending, base in (("ib", 1024), ("i", 1024), ("b", 1000), ("", 1000))
}
#: fewer bytes without a unit are a mistake
_LEAST = 2**20
_SIZE = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([a-zA-Z]*)\s*")


def parse_bytes(text: str) -> int:
    """Parse a number of bytes such as ``"512MiB"``, ``"1.5 GB"`` or ``"1048576"``.

    Raises
    ------
    InputError
        If it is not a positive number with a known unit, or has no unit and is below 1 MiB.
    """
    match = _SIZE.fullmatch(text)
    unit = match[2].lower() if match else None
    size = int(float(match[1]) * _UNITS[unit]) if match and unit in _UNITS else 0
    if size < 1:
        raise InputError(f"{text!r} is not a size in bytes", hint="write for instance 512MiB or 2GB")
    if not unit and size < _LEAST:
        raise InputError(
            f"{text!r} is {size:,} bytes, as it has no unit", hint=f"write for instance {text}GiB"
        )
    return size


class Bytes(AbstractKind):
    """Sizes of memory: a text, or a number of bytes."""

    description = "a size like '512MiB', or a number of bytes"
    annotation = "int | str"
    docstring_type = "int or str"

    def accepts(self, value: Any) -> bool:
        return _may_be_size(value) and self.refusal(value) is None

    def refusal(self, value: Any) -> InputError | None:
        if _may_be_size(value):
            try:
                self.clean(value)
            except InputError as error:
                return error
        return None

    def clean(self, value: Any) -> int:
        return parse_bytes(str(value))


def _may_be_size(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, Integral) and not isinstance(value, bool))
