"""Measure CPU seconds of a block, without imports and numba's compiler."""

from __future__ import annotations

import builtins
import time
from contextlib import ExitStack
from typing import Any


class Work:
    """A context that measures user and system seconds of this process.

    Attributes
    ----------
    seconds : work without the following
    imports : imported modules, including what they compile
    compiles : functions compiled by numba; loads from its cache count as work
    """

    def __init__(self, *, compiles: bool = False) -> None:
        self.seconds = self.imports = self.compiles = 0.0
        self._listens, self._depth, self._begin = compiles, 0, 0.0
        self._stack = ExitStack()

    def __enter__(self) -> Work:
        if self._listens:
            self._listen()
        original = builtins.__import__

        def imported(*args: Any, **kwargs: Any) -> Any:
            self._enter()
            try:
                return original(*args, **kwargs)
            finally:
                self.imports += self._leave()

        builtins.__import__ = imported
        self._stack.callback(setattr, builtins, "__import__", original)
        self._start = time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.process_time() - self._start - self.imports - self.compiles
        self._stack.close()

    def _enter(self) -> None:
        self._depth += 1
        if self._depth == 1:
            self._begin = time.process_time()

    def _leave(self) -> float:
        """Seconds since the outermost block was entered; 0 inside it."""
        self._depth -= 1
        return 0.0 if self._depth else time.process_time() - self._begin

    def _listen(self) -> None:
        from numba.core import event

        work = self

        class Compiles(event.Listener):  # type: ignore[misc]
            def on_start(self, event: Any) -> None:
                work._enter()

            def on_end(self, event: Any) -> None:
                work.compiles += work._leave()

        self._stack.enter_context(event.install_listener("numba:compile", Compiles()))
