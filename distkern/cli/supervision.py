"""Claims on the folder of an attached run, and retries when the cluster fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TypeVar

from distkern.core.errors import DistkernError, InputError

if TYPE_CHECKING:
    from distkern.cli.job import Job
    from distkern.data.store.places import Place
    from distkern.engine.events import Listener

Result = TypeVar("Result")


@contextmanager
def driving(place: Place, resume: bool) -> Iterator[tuple[Listener, ...]]:
    """Claim a run's folder while the context is entered; the listeners stop a run that lost its claim.

    Another driver of the same run that is still alive (its host was cut off, say) stops at its next check.

    Raises
    ------
    InputError
        If a process writes to the folder, a job for it waits, or it cannot be written.
    """
    from distkern.jobs.driver import Guard, Heartbeat
    from distkern.jobs.folder import JobFolder, attached_facts
    from distkern.runs.folder import check_folder

    folder = JobFolder(place)
    folder.refuse_if_driven()
    check_folder(folder.path, resume)
    folder.go_on()
    fence = folder.claim()
    try:
        with Heartbeat(folder, fence, attached_facts()) as heartbeat:
            yield Guard(folder, fence, lambda: False), heartbeat
    finally:
        # a store that is away now must not hide what the run has to say; the claim ages by itself
        with suppress(DistkernError, OSError):
            folder.release(fence)


def supervised(job: Job, run: Callable[[int], Result], retries: int, say: Callable[[str], None]) -> Result:
    """Run once, and up to ``retries`` more times if the job's scheduler fails.

    ``run`` gets the number of earlier tries.

    Raises
    ------
    InputError
        If there are retries but no scheduler to reconnect to.
    """
    from distkern.jobs.driver import is_fault_of_cluster, with_retries

    if retries and "://" not in job.scheduler:
        raise InputError(
            f"needs a running scheduler, not {job.scheduler!r}",
            where="--retries",
            hint="give --scheduler tcp://HOST:PORT or tls://HOST:PORT, or leave --retries out",
        )

    def expected(error: BaseException, tried: int) -> bool:
        # a scheduler that is being restarted does not answer for a while
        starting = (
            tried > 0 and isinstance(error, InputError) and error.where == f"--scheduler {job.scheduler}"
        )
        return starting or is_fault_of_cluster(error)

    return with_retries(run, retries, say, expected=expected)
