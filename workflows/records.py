"""Measurements on disk: one file each, written when it ends, so that a run that was stopped goes on."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

Record = dict[str, Any]


class Records:
    """Measurements by key, for instance ``compare/covtype/lightgbm``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.json"

    def get(self, key: str) -> Record | None:
        """What was measured, or None."""
        path = self._path(key)
        return json.loads(path.read_text()) if path.exists() else None

    def put(self, key: str, record: Mapping[str, Any]) -> None:
        """Keep a measurement, whole or not at all."""
        path = self._path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".partial")
        partial.write_text(json.dumps(record, indent=1))
        os.replace(partial, path)

    def measured(self, key: str, asked: Mapping[str, Any], measure: Callable[[], Record]) -> Record:
        """What there is of the same question, or what ``measure`` finds now."""
        there = self.get(key)
        # as it is read again: tuples are lists there
        question = json.loads(json.dumps(asked))
        if there is None or there["asked"] != question:
            there = {"asked": question, **measure()}
            self.put(key, there)
        return there

    def under(self, prefix: str) -> Iterator[tuple[str, Record]]:
        """Keys, without the prefix, and measurements, in the order of the keys."""
        base = self.folder / prefix
        for path in sorted(base.rglob("*.json")):
            yield str(path.relative_to(base).with_suffix("")), json.loads(path.read_text())
