"""Failures of the cluster, which a resumed run survives, and how often to try."""

from __future__ import annotations

import asyncio
import concurrent.futures
import errno
import time
from collections.abc import Callable
from typing import TypeVar

from distkern.common import interrupts
from distkern.common.errors import ClusterError, DistkernError

Result = TypeVar("Result")

_OF_THE_NETWORK = {
    None,
    errno.ECONNRESET,
    errno.ECONNREFUSED,
    errno.ECONNABORTED,
    errno.EPIPE,
    errno.ETIMEDOUT,
    errno.EHOSTUNREACH,
    errno.ENETUNREACH,
    errno.EHOSTDOWN,
    errno.ENETDOWN,
    errno.ENOTCONN,
}
#: seconds before the first new try; doubled for each further one, up to the second
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0


def is_fault_of_cluster(error: BaseException) -> bool:
    """Whether the cluster failed, and not the job: the same job may succeed from its last checkpoint."""
    if isinstance(error, (ClusterError, asyncio.CancelledError, concurrent.futures.CancelledError)):
        return True
    if isinstance(error, DistkernError):
        return False
    return isinstance(error, OSError) and error.errno in _OF_THE_NETWORK


def with_retries(
    run: Callable[[int], Result],
    retries: int,
    say: Callable[[str], None],
    *,
    expected: Callable[[BaseException, int], bool] = lambda error, tried: is_fault_of_cluster(error),
    sleep: Callable[[float], None] = time.sleep,
) -> Result:
    """Call ``run(0)``; as long as the cluster fails, ``run(1)`` to ``run(retries)``.

    Parameters
    ----------
    run : is given how often it was tried before
    retries : how many tries after the first
    say : told what happened and what comes next
    expected : whether an error of a try (the first is 0) is worth another
    sleep : waits between tries: 1, 2, 4, ... seconds, at most 60
    """
    for tried in range(retries + 1):
        try:
            return run(tried)
        except Exception as error:
            if tried == retries or not expected(error, tried):
                raise
            pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2**tried)
            # what the user would have to do is done here
            said = str(error).removesuffix("; resume with --resume") or type(error).__name__
            what = " ".join(said.split())
            say(f"{what}; try {tried + 1} of {retries} in {pause:.0f} s, from the last checkpoint")
        interrupts.check()
        sleep(pause)
    raise AssertionError("the last try returns or raises")
