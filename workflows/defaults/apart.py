"""Fits in processes of their own, which the system ends when they take too long."""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

from workflows import processes
from workflows.pool import Question
from workflows.records import Record, Records

#: wall seconds for each CPU second that a fit may take: other processes take their share of a machine
_PATIENCE = 60.0


def is_missing(records: Records, question: Question) -> bool:
    """Whether there is no record of a question, or one of a fit that had less time and used it up."""
    if not question.is_answered(records):
        return True
    there = records.get(question.key) or {}
    return "failed" in there and there.get("limit", 0.0) < question.given["limit"]


def answer_apart(
    records: Records, questions: Sequence[Question], side_by_side: int, tell: Callable[[str], None]
) -> None:
    """Answer each question in its own process of one thread, ``side_by_side`` at a time, as records."""
    number = 0

    def keep(question: Question, found: Record) -> None:
        nonlocal number
        number += 1
        records.put(question.key, {"asked": question.asked, **found})
        cost = f"{found['cpu_seconds']:.1f} s" if "cpu_seconds" in found else str(found.get("failed", ""))
        tell(f"{number}/{len(questions)} {question.key} {cost}".rstrip())

    if side_by_side == 1:
        for question in questions:
            keep(question, _answered(question))
        return
    pool = ThreadPoolExecutor(side_by_side)
    try:
        asked = {pool.submit(_answered, one): one for one in questions}
        for done in as_completed(asked):
            keep(asked[done], done.result())
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _answered(question: Question) -> Record:
    given, limit = {**question.asked, **question.given}, question.given["limit"]
    patience = _PATIENCE * limit
    found = processes.question("workflows.defaults.fits", given, limit=patience, threads=1)
    failed = str(found.get("failed", ""))
    if failed.startswith(f"exit status {-signal.SIGXCPU}:"):
        found = {"failed": f"took more than {limit:g} CPU seconds"}
    elif failed == f"took more than {patience:g} s":
        # of a machine that had no time for it: asked again
        return {**found, "limit": 0.0}
    return {**found, "limit": limit}
