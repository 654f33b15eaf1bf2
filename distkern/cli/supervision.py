"""What surrounds an attached run: claims of its folder, and new tries when the cluster fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TypeVar

from distkern.common.errors import DistkernError, InputError

if TYPE_CHECKING:
    from distkern.cli.job import Job
    from distkern.engine.events import Listener
    from distkern.storage.places import Place

Result = TypeVar("Result")


@contextmanager
def driving(place: Place, resume: bool) -> Iterator[tuple[Listener, ...]]:
    """Hold the claim to a run's folder while entered; the listeners stop a run that has lost it.

    A driver of the same run that lives on all the same (its host was cut off, say) stops at its next look.

    Raises
    ------
    InputError
        If somebody trains to the folder, or a job for it waits, or it cannot be trained to.
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
    """Run once, and up to ``retries`` times more if the job's scheduler fails.

    ``run`` is given the number of tries before.

    Raises
    ------
    InputError
        If there are retries and no scheduler that could be connected to again.
    """
    from distkern.jobs.driver import is_fault_of_cluster, with_retries

    if retries and "://" not in job.scheduler:
        raise InputError(
            f"needs a scheduler that outlives this process, not {job.scheduler!r}",
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
