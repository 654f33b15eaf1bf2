"""The table ``[search]`` of a job file: what ``distkern tune`` tries, and how."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from distkern.common.errors import InputError, unknown_name

_STRICT = ConfigDict(extra="forbid", frozen=True, strict=True)
_MEND = "write name = [value, value] or name = {low = 0.1, high = 10.0, log = true}"


class RangeTable(BaseModel):
    """Numbers that are tried; see :class:`distkern.tuning.space.Range`."""

    model_config = _STRICT

    low: int | float
    high: int | float
    log: bool = False
    points: int | None = None


class SearchTable(BaseModel):
    """What is tried; the fields are the keys of the table.

    Attributes
    ----------
    method : "grid", "random" or "halving", see :func:`distkern.tuning.api.tune`
    candidates : how many are drawn
    validation : share of the training rows that are held out, or a number of folds
    metric : by which they are compared
    factor : of halving, one of so many goes on
    params : hyperparameter -> list of values, or a :class:`RangeTable`; none: those that are worth it
    """

    model_config = _STRICT

    method: Literal["grid", "random", "halving"] | None = None
    candidates: Annotated[int, Field(ge=1)] | None = None
    validation: Annotated[float, Field(gt=0, lt=1)] | Annotated[int, Field(ge=2)] = 0.2
    metric: str | None = None
    factor: Annotated[int, Field(ge=2)] = 3
    params: dict[str, RangeTable | list[Any]] = Field(default_factory=dict)


def read_search(given: Any, where: str) -> SearchTable:
    """The table of a job file at ``where``.

    Raises
    ------
    InputError
        For an unknown key, with the nearest right one, or a value that it cannot have.
    """
    if not isinstance(given, dict):
        raise InputError("key 'search' is not a table", where=where, mend="write [search] and its keys below")
    _refuse_unknown(given, SearchTable, "[search]", where)
    params = given.get("params", {})
    if not isinstance(params, dict):
        raise InputError(f"is {params!r}", where=f"{where}, [search], key 'params'", mend=_MEND)
    for name, values in params.items():
        place = f"{where}, [search.params], {name!r}"
        if isinstance(values, dict):
            _refuse_unknown(values, RangeTable, f"range {name!r}", where)
        elif not isinstance(values, list):
            raise InputError(f"is {values!r}", where=place, mend=_MEND)
        elif not values:
            raise InputError("an empty list", where=place, mend="give at least one value")
    try:
        return SearchTable(**given)
    except ValidationError as error:
        raise _explained(error, where) from None


def _explained(error: ValidationError, where: str) -> InputError:
    first = error.errors()[0]
    name = str(first["loc"][0])
    if name == "params":
        return InputError(
            f"not a range: {first['msg'].lower()}",
            where=f"{where}, [search.params], {first['loc'][1]!r}",
            mend=_MEND,
        )
    mends = {
        "method": "take grid, random or halving",
        "validation": "give a share of the rows, like 0.2, or a number of folds, like 5",
    }
    what = f"{first['input']!r}: {first['msg'].lower()}"
    return InputError(
        what, where=f"{where}, [search], key {name!r}", mend=mends.get(name, "correct the value")
    )


def _refuse_unknown(given: dict[str, Any], kind: type[BaseModel], what: str, where: str) -> None:
    for key in given:
        if key not in kind.model_fields:
            error = unknown_name(f"key of {what}", key, kind.model_fields)
            raise InputError(error.what, where=where, mend=error.mend)
