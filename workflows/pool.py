"""Questions that processes answer concurrently; each answer is stored as a record when it is ready."""

from __future__ import annotations

import json
import multiprocessing
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from workflows.orphans import end_with_parent
from workflows.processes import environment
from workflows.records import Record, Records


@dataclass(frozen=True)
class Question:
    """``function(**asked, **given)``, a function of a module, which answers with a record.

    Attributes
    ----------
    key : of the record
    asked : what the answer depends on, stored with it; another question is answered anew
    given : further arguments, such as paths
    """

    key: str
    function: Callable[..., Record]
    asked: Mapping[str, Any]
    given: Mapping[str, Any] = field(default_factory=dict)

    def answer(self) -> Record:
        """What the function says, or "failed" with its error in one line."""
        try:
            return self.function(**self.asked, **self.given)
        except Exception as error:
            lines = str(error).strip().splitlines() or ["no message"]
            return {"failed": f"{type(error).__name__}: {lines[-1][:400]}"}

    def is_answered(self, records: Records) -> bool:
        """Whether the record of the key is of this question."""
        there = records.get(self.key)
        # as it is read again: tuples are lists there
        return there is not None and there["asked"] == json.loads(json.dumps(self.asked))


def answer(
    records: Records,
    questions: Sequence[Question],
    processes: int,
    tell: Callable[[str], None],
    *,
    fresh: bool = False,
) -> None:
    """Answer open questions in processes of one thread, which end with this one.

    Parameters
    ----------
    processes : most concurrent processes
    fresh : each in a process of its own, whose peak of memory is then that of the question
    """
    missing = [question for question in questions if not question.is_answered(records)]
    if not missing:
        return
    context = multiprocessing.get_context("spawn")
    with (
        _one_thread(),
        ProcessPoolExecutor(
            min(processes, len(missing)),
            mp_context=context,
            initializer=end_with_parent,
            max_tasks_per_child=1 if fresh else None,
        ) as pool,
    ):
        asked: dict[Future[Record], Question] = {pool.submit(one.answer): one for one in missing}
        try:
            for number, done in enumerate(as_completed(asked), 1):
                question, found = asked[done], done.result()
                records.put(question.key, {"asked": question.asked, **found})
                tell(f"{number}/{len(missing)} {question.key} {found.get('failed', '')}".rstrip())
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


@contextmanager
def _one_thread() -> Iterator[None]:
    """What processes that are started meanwhile find in their environment."""
    before = dict(os.environ)
    os.environ.update(environment(1))
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
