"""``metrics.jsonl``: one JSON object per stage."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from distkern.common.errors import CorruptDataError
from distkern.engine.events import Event
from distkern.storage.atomic import append_text, write_text_atomic
from distkern.storage.description import json_object, plain
from distkern.storage.places import Location, place_of

#: the keys of a line, in order; a solver's own figures follow
FIELDS = (
    "stage",
    "passes",
    "seconds",
    "objective",
    "train_error",
    "test_error",
    "model_size",
    "feature_accesses",
    "feature_accesses_nonzero",
    "rows_read",
    "bytes_read",
    "peak_rss_bytes",
)


class MetricsFile:
    """A listener that appends a line to ``path`` at every finished stage, on disk before it returns."""

    def __init__(self, path: Location) -> None:
        self.path = place_of(path)

    def __call__(self, event: Event) -> None:
        if event.kind != "stage_finished":
            return
        append_text(self.path, to_line(event["metrics"]))


def to_line(metrics: Mapping[str, Any]) -> str:
    """A stage's metrics as a line of JSON: known keys first, numpy scalars as numbers, non-finite as null."""
    ordered = {name: metrics[name] for name in FIELDS if name in metrics}
    ordered.update((name, value) for name, value in metrics.items() if name not in ordered)
    return json.dumps({name: plain(value) for name, value in ordered.items()}, allow_nan=False) + "\n"


def rewrite(path: Location, history: Iterable[Mapping[str, Any]]) -> None:
    """Replace the file by the lines of ``history``, whole or not at all.

    A resumed run does this with its checkpoint's history: stages after the checkpoint are run again.
    """
    write_text_atomic(path, "".join(to_line(metrics) for metrics in history))


def read(path: Location) -> list[dict[str, Any]]:
    """The stages of a metrics file, oldest first.

    A last line without its line break was being written when the process died, and is left out.

    Raises
    ------
    CorruptDataError
        If another line is not a JSON object.
    """
    history: list[dict[str, Any]] = []
    content = place_of(path).read_bytes()
    for number, line in enumerate(content.splitlines(keepends=True), start=1):
        if not line.endswith(b"\n"):
            break
        try:
            history.append(json_object(line))
        except ValueError:
            raise CorruptDataError(
                "is not a JSON object", where=f"{path}, line {number}", hint="train again"
            ) from None
    return history
