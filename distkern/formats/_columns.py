"""Which columns of a table are features and which is the target."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from distkern.common.errors import InputError
from distkern.common.names import order_by_name
from distkern.formats.base import ReadOptions


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a table: all names, and positions of the features and of what else there is."""

    names: tuple[str, ...]
    features: tuple[int, ...]
    target: int | None
    id: int | None = None
    weight: int | None = None
    group: int | None = None

    @property
    def target_name(self) -> str | None:
        return None if self.target is None else self.names[self.target]

    @property
    def feature_names(self) -> tuple[str, ...]:
        return tuple(self.names[position] for position in self.features)


def choose_columns(
    names: Sequence[str], *, where: str, options: ReadOptions, has_header: bool = True
) -> Columns:
    """Split a table's columns: ``options.target`` by name, else by position; default the last column.

    Positions count from 0 and, where negative, from the end, as in pandas. Without a target kind every column
    is a feature unless ``options.target`` names one to leave out. Where ``options.features`` are wanted and
    the names are the table's own, the features are these, in this order. Raises :class:`InputError` for
    columns without a name or with the same one, for a target or an id that is not there, and for features
    that are missing or not wanted.
    """
    there: set[str] = set()
    for position, name in enumerate(names):
        if not name:
            raise InputError(
                f"column {position + 1} has no name (is it a row index?)",
                where=where,
                hint="name it if it is a feature, else write the file without it",
            )
        if name in there:
            raise InputError(f"two columns are named {name!r}", where=where, hint="rename one of them")
        there.add(name)
    target = _target(names, where=where, options=options)
    weight = _beside(names, options.weight, "to hold weights", where, options)
    group = _beside(names, options.group, "to hold groups", where, options)
    for role, own, others in (("weight", weight, {target}), ("group", group, {target, weight})):
        if own is not None and own in others:
            other = "target" if own == target else "weight"
            raise InputError(
                f"column {names[own]!r} cannot be both {other} and {role}",
                where=where,
                hint=f"give --{other} COLUMN",
            )
    id_ = _beside(names, options.id, "to be kept as id", where, options)
    wanted = (options.features if has_header else None) or ()
    known = frozenset(wanted)
    left_out = {target, weight, group}
    if id_ is not None and names[id_] not in known:
        left_out.add(id_)
    left_out |= {_beside(names, name, "to leave out", where, options) for name in options.drop}
    # where one is missing, what is unknown may be it under another name
    if options.unknown is not None and known and known <= there:
        unknown = [at for at, name in enumerate(names) if name not in known and at not in left_out]
        options.unknown.update(names[at] for at in unknown if names[at] not in options.ignored)
        left_out |= {*unknown}
    if has_header:
        ignored = {*options.ignored} - known
        left_out |= {at for at, name in enumerate(names) if name in ignored}
    for name in () if options.kinds is None or options.features is not None else options.kinds.keep_na:
        _beside(names, name, "to keep the texts of", where, options)
    features = tuple(position for position in range(len(names)) if position not in left_out)
    if wanted:
        order = order_by_name([names[at] for at in features], wanted, where=where, whose="the training data")
        features = features if order is None else tuple(features[at] for at in order.tolist())
    if not features:
        hint = "a file needs at least one column besides the target"
        raise InputError("the file has no feature columns", where=where, hint=hint)
    return Columns(tuple(names), features, target, id_, weight, group)


def _beside(
    names: Sequence[str], wanted: str | None, role: str, where: str, options: ReadOptions
) -> int | None:
    """The position of a column that is neither target nor feature; None for one that need not be there."""
    if wanted is None or (options.may_lack and wanted not in names and not wanted.lstrip("-").isdecimal()):
        return None
    return _position(names, wanted, role, where)


def _target(names: Sequence[str], *, where: str, options: ReadOptions) -> int | None:
    wanted = options.target
    if wanted is None:
        return None if options.target_kind == "none" else len(names) - 1
    return _position(names, wanted, "to be the target", where)


def _position(names: Sequence[str], wanted: str, role: str, where: str) -> int:
    if wanted in names:
        return list(names).index(wanted)
    try:
        position = int(wanted)
    except ValueError:
        close = difflib.get_close_matches(wanted, names, n=1, cutoff=0.0)
        hint = f"did you mean {close[0]!r}?"
        if len(names) == 1 and (mark := next((mark for mark in "\t;|," if mark in names[0]), "")):
            hint = f"the only column is {names[0]!r}, whose parts are separated by {mark!r}: give that as "
            hint += "--delimiter, or leave --delimiter out"
        raise InputError(f"there is no column {wanted!r} {role}", where=where, hint=hint) from None
    if not -len(names) <= position < len(names):
        raise InputError(
            f"there is no column number {position} {role}",
            where=where,
            hint=f"columns count from 0 to {len(names) - 1}; or give the name",
        )
    return position % len(names)
