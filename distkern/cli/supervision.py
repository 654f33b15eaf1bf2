"""What surrounds an attached run: claims of its folder, and new tries when the cluster fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from distkern.core.errors import InputError

if TYPE_CHECKING:
    from distkern.cli.job import Job
    from distkern.engine.events import Listener

Result = TypeVar("Result")


def guards(job: Job) -> tuple[Listener, ...]:
    """The claim to a folder that a submitted job trains to: a driver of that job that still lives stops.

    Raises
    ------
    InputError
        If the job is waiting or running.
    """
    from distkern.jobs.driver import Guard
    from distkern.jobs.folder import JobFolder

    folder = None if job.out is None else JobFolder(job.out)
    if folder is None or not folder.has_job or folder.has_model:
        return ()
    folder.refuse_if_driven()
    folder.go_on()
    return (Guard(folder, folder.claim(), lambda: False),)


def supervised(
    job: Job, run: Callable[[int], Result], retries: int, say: Callable[[str], None]
) -> Result:  # fmt: skip
    """Run once, and up to ``retries`` times more if the job's scheduler fails.

    ``run`` is given the number of tries before.

    Raises
    ------
    InputError
        If there are retries and no scheduler that could be connected to again.
    """
    from distkern.jobs.faults import is_fault_of_cluster, with_retries

    if retries and "://" not in job.scheduler:
        raise InputError(
            f"needs a scheduler that outlives this process, not {job.scheduler!r}", where="--retries",
            mend="give --scheduler tcp://HOST:PORT or tls://HOST:PORT, or leave --retries out",
        )  # fmt: skip

    def expected(error: BaseException, tried: int) -> bool:
        # a scheduler that is being restarted does not answer for a while
        starting = (
            tried > 0 and isinstance(error, InputError) and error.where == f"--scheduler {job.scheduler}"
        )
        return starting or is_fault_of_cluster(error)

    return with_retries(run, retries, say, expected=expected)
