"""A job's part of its run's folder: record, heartbeat, request to stop, claims.

If two drivers run the same job, the older one stops. A driver claims a job by creating the next of the files
``epoch-00001``, ``epoch-00002``, ...; only one process can create each. The claim holds while there is no
newer file, which the driver checks before it writes a stage. Between checks it writes the same bits as the
newer driver would.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from distkern.core.errors import CorruptDataError, FencedError, InputError, StoreError
from distkern.core.processes import birth, is_running
from distkern.core.urls import is_url
from distkern.data.store.atomic import write_text_atomic
from distkern.data.store.description import json_object
from distkern.data.store.places import (
    Location,
    NotAFileError,
    Place,
    absolute,
    create_exclusively,
    explain_errors,
    make_folder,
    modified,
    place_of,
    read_file,
    remove_tree,
)
from distkern.engine.checkpoint import CheckpointFolder
from distkern.jobs.record import (
    LOST_SECONDS,
    OVER,
    RUNNING,
    Record,
    from_json,
    is_recent,
    state_of,
    unreadable_record,
)

_NAME = re.compile(r"epoch-(\d{5,})")


@dataclass(frozen=True)
class Fence:
    """A claim on a run: ``epoch`` in ``folder``, and the content of its file."""

    folder: Place
    epoch: int
    owner: str

    def holds(self) -> bool:
        """Return whether the claim is still the newest and its file exists."""
        return newest(self.folder) == self.epoch and self._is_there()

    def check(self) -> None:
        """Raise :class:`FencedError` if the claim is lost."""
        latest = newest(self.folder)
        if latest == 0 and (self.folder.parent / "model.json").is_file():
            raise FencedError(f"another driver has finished the run in {self.folder.parent}: this one stops")
        if latest == 0:
            raise FencedError(
                f"the folder {self.folder.parent} was removed or emptied during training: start "
                "again, and leave the folder alone until the run has finished"
            )
        if latest != self.epoch or not self._is_there():
            raise FencedError(
                f"another driver has taken over the run in {self.folder.parent} (epoch {latest}, this one is "
                f"{self.epoch}): this one stops"
            )

    def _is_there(self) -> bool:
        try:
            return read_file(_file(self.folder, self.epoch)) == self.owner.encode()
        except FileNotFoundError:
            return False


def _file(folder: Place, epoch: int) -> Place:
    return folder / f"epoch-{epoch:05d}"


def newest(folder: Place) -> int:
    """Return the newest epoch of a job; 0 if it was never claimed."""
    try:
        found = (_NAME.fullmatch(entry.name) for entry in folder.iterdir())
        return max((int(match[1]) for match in found if match), default=0)
    except FileNotFoundError:
        return 0


def claim(folder: Place, progress: Sequence[int] = ()) -> Fence:
    """Become the newest driver of a job.

    ``progress`` is the progress of the job; see :meth:`JobFolder.starts_at`.

    Raises
    ------
    InputError
        If the folder cannot be written.
    """
    owner = json.dumps(
        {
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "time": time.time(),
            "progress": list(progress),
            "claim": secrets.token_hex(8),
        }
    )
    owner += "\n"
    make_folder(folder, folder.parent if folder.name == OWN else folder)
    while True:
        epoch = newest(folder) + 1
        path = _file(folder, epoch)
        try:
            # create-if-absent is atomic on every shared file system
            create_exclusively(path, owner)
        except FileExistsError:
            continue
        except OSError:
            with explain_errors(path):
                raise
        return Fence(folder, epoch, owner)


_FOLDER = ".distkern-jobs"


class JobIndex:
    """The jobs of a folder of runs, found without a scheduler.

    Parameters
    ----------
    runs : the folder; runs in it are indexed by relative path, since hosts may mount it at different places
    """

    def __init__(self, runs: Location) -> None:
        self.runs = absolute(runs)
        self._folder = self.runs / _FOLDER

    def add(self, identifier: str, out: Place) -> None:
        """Record the folder of a job."""
        place, runs = str(absolute(out)), str(self.runs)
        text = place.removeprefix(runs).lstrip("/") if place.startswith(f"{runs.rstrip('/')}/") else place
        with explain_errors(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
        write_text_atomic(self._folder / f"{identifier}.json", json.dumps({"out": text}) + "\n")

    def names(self) -> list[str]:
        """Return the ids of all jobs, sorted."""
        if not self._folder.is_dir():
            return []
        return sorted(path.stem for path in self._folder.iterdir() if path.suffix == ".json")

    def folder(self, identifier: str) -> JobFolder:
        """Return the folder of a job.

        Raises
        ------
        InputError
            If there is no such job; the message lists the known ids.
        CorruptDataError
            If its entry in the index is damaged.
        """
        known = self.names()
        if identifier not in known:
            raise unknown_job(identifier, known, f"runs folder {self.runs}")
        file = self._folder / f"{identifier}.json"
        try:
            out = json_object(read_file(file))["out"]
            # not a valid path
            if not isinstance(out, str) or b"\0" in out.encode():
                raise ValueError(f"{out!r} is not a path")
            # runs outside of the folder have absolute paths
            return JobFolder(out if is_url(out) else self.runs / out)
        except (OSError, ValueError, KeyError):
            raise CorruptDataError(
                "does not name the job's folder",
                where=str(file),
                hint='write {"out": "M"} there, where M is the job\'s folder, or remove it',
            ) from None


def unknown_job(identifier: str, known: list[str], where: str) -> InputError:
    """Return the error for an id that is not in ``known``."""
    shown = ", ".join(known[:10]) + (f" and {len(known) - 10} more" if len(known) > 10 else "")
    if "/" in identifier or (Path(identifier) / "model.json").exists():
        return InputError(
            f"{identifier!r} is a path, and a job has an id",
            where=where,
            hint="`distkern jobs --runs FOLDER` lists the ids of the jobs in a folder or store",
        )
    return InputError(
        f"no job {identifier!r}",
        where=where,
        hint=f"known are: {shown}" if known else "there are no jobs; give --runs FOLDER (or DISTKERN_RUNS)",
    )


#: files and folder of a job in its run's folder
RECORD, LOG, CANCEL, OWN = "job.json", "log.jsonl", "cancel", ".job"
#: folder of a search's trials
TRIALS = "tune/trials"
#: key of a heartbeat: the driver is a user's process and not a job of a scheduler
ATTACHED = "attached"


def attached_facts() -> dict[str, Any]:
    """Return the facts of an attached run for its heartbeats."""
    pid = os.getpid()
    return {ATTACHED: True, "host": socket.gethostname(), "pid": pid, "born": birth(pid)}


class JobFolder:
    """A job's part of the folder ``out`` of its run.

    Attributes
    ----------
    path : the folder
    log : the events, one a line
    """

    def __init__(self, path: Location) -> None:
        self.path = place_of(path)
        self.log = self.path / LOG
        self._own = self.path / OWN

    @property
    def has_job(self) -> bool:
        """Whether a job was ever submitted to this folder."""
        return (self.path / RECORD).is_file()

    @property
    def has_model(self) -> bool:
        """Whether training has finished: ``model.json`` is written last, atomically."""
        return (self.path / "model.json").is_file()

    def progress(self) -> tuple[int, int]:
        """Return the number of finished trials of a search, and the last stage or -1."""
        try:
            n_trials = sum(file.name[:1] != "." for file in (self.path / TRIALS).iterdir())
        except (FileNotFoundError, NotADirectoryError):
            n_trials = 0
        stages = CheckpointFolder(self.path / "checkpoints", {}).stages()
        return n_trials, stages[-1] if stages else -1

    def record(self) -> Record:
        """Return the job's record.

        Raises
        ------
        InputError
            If there is none.
        """
        file = self.path / RECORD
        try:
            text = read_file(file)
        except (FileNotFoundError, NotADirectoryError):
            raise InputError(
                "holds no job (no job.json)",
                where=str(self.path),
                hint="give the folder that a job trains to",
            ) from None
        except NotAFileError as error:
            raise unreadable_record(error.strerror, str(file)) from None
        return from_json(text, str(file))

    def write(self, record: Record) -> None:
        """Replace the record atomically."""
        with explain_errors(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
        write_text_atomic(self.path / RECORD, record.to_json())

    def discard(self) -> None:
        """Remove the folder of a job that trained nothing; other files stay."""
        remove_tree(self._own)
        with suppress(OSError):
            self.path.rmdir()

    # -- heartbeats

    def beat(self, facts: dict[str, Any]) -> None:
        """Write a heartbeat with the state of the driver."""
        write_text_atomic(self._own / "heartbeat", json.dumps({"time": time.time(), **facts}) + "\n")

    def pulse(self) -> dict[str, Any]:
        """Return the last heartbeat: ``time`` and the state of the driver; empty if there is none."""
        file = self._own / "heartbeat"
        try:
            pulse = json_object(read_file(file))
            if not isinstance(pulse.get("time"), int | float):
                return {}
            # the driver's clock may be ahead
            return {**pulse, "time": min(modified(file), pulse["time"])}
        except (OSError, ValueError, StoreError):
            return {}

    def state(self) -> str:
        """Return the job's state."""
        if self.is_attached():
            return RUNNING
        return state_of(
            self.record(),
            self.pulse().get("time"),
            asked_to_stop=self.asked_to_stop(),
            has_model=self.has_model,
            now=time.time(),
        )

    def is_attached(self) -> bool:
        """Return whether an attached run (``distkern train``) writes to this folder now."""
        return _lives(self.pulse())

    # -- stopping

    def ask_to_stop(self) -> None:
        """Ask the job's driver to stop at its next check."""
        with explain_errors(self.path):
            # atomic: does not follow a link
            write_text_atomic(self.path / CANCEL, "")

    def asked_to_stop(self) -> bool:
        """Return whether the job was asked to stop."""
        return (self.path / CANCEL).exists()

    def go_on(self) -> None:
        """Withdraw the request to stop."""
        with explain_errors(self.path):
            (self.path / CANCEL).unlink(missing_ok=True)

    # -- who drives

    def claim(self, progress: Sequence[int] = ()) -> Fence:
        """Become the job's driver; an older one stops at its next check."""
        return claim(self._own, progress)

    def starts_at(self, progress: Sequence[int]) -> int:
        """Return how many of the last drivers in a row started at ``progress``."""
        starts = 0
        for epoch in range(newest(self._own), 0, -1):
            try:
                claimed = json_object(read_file(_file(self._own, epoch)))["progress"]
            except (OSError, ValueError, KeyError):
                # the driver died while writing the claim, so it made no progress
                claimed = list(progress)
            if claimed != list(progress):
                break
            starts += 1
        return starts

    def release(self, fence: Fence) -> None:
        """Give up the claim of a finished attached run."""
        if not fence.holds():
            return
        if self.has_job:
            (self._own / "heartbeat").unlink(missing_ok=True)
        else:
            self.discard()

    def refuse_if_attached(self) -> None:
        """Raise :class:`InputError` if an attached run writes to this folder now."""
        pulse = self.pulse()
        if _lives(pulse):
            raise InputError(
                f"process {pulse.get('pid')} on {pulse.get('host')} is writing to this folder",
                where=str(self.path),
                hint="wait for it, stop it there with Ctrl-C, or use another folder; a run on another "
                f"machine that has been silent for {LOST_SECONDS:.0f} seconds counts as lost",
            )

    def refuse_if_driven(self) -> None:
        """Raise :class:`InputError` if a job of this folder is queued or running, or an attached run is."""
        self.refuse_if_attached()
        if not self.has_job:
            return
        try:
            record, state = self.record(), self.state()
        except CorruptDataError:
            # a damaged record must not lock the folder
            return
        if state not in OVER:
            raise InputError(
                f"is the folder of job {record.id}, which is {state}",
                where=str(self.path),
                hint=f"wait for it ({record.command('logs', '--follow')}), stop it "
                f"({record.command('cancel')}), or use another folder; a job that has been silent for "
                f"{LOST_SECONDS:.0f} seconds counts as lost",
            )


def _lives(pulse: Mapping[str, Any]) -> bool:
    """Return whether a heartbeat comes from an attached run that is still running.

    A known process of this machine counts however long it has been silent: it may be stopped.
    """
    if not pulse.get(ATTACHED):
        return False
    recent = is_recent(pulse.get("time"), time.time())
    born = str(pulse.get("born", ""))
    if pulse.get("host") != socket.gethostname() or not (recent or born):
        return recent
    try:
        return is_running(int(pulse["pid"]), born)
    except (KeyError, TypeError, ValueError):
        return recent


def problem_here(out: str, token: str, data: str) -> str:
    """Return the problem of this worker with the job's folders, or an empty text.

    Parameters
    ----------
    out : folder of the run
    token : name of a file that the submitter wrote there
    data : the data set
    """
    own = place_of(out) / OWN
    if not (own / token).is_file():
        return f"does not see this machine's folder {out}"
    mine = own / f"{token}-{os.getpid()}"
    try:
        mine.write_text("probe\n", encoding="utf-8")
        mine.unlink()
    except OSError as error:
        return f"cannot write to {out} ({error.strerror})"
    if not place_of(data).exists():
        return f"does not see the data set {data}"
    return ""


def check_store(out: Place, data: str, everywhere: Callable[..., Mapping[str, Any]]) -> None:
    """Refuse folders that a worker cannot use, before a job is submitted that would fail there.

    Parameters
    ----------
    out : folder of the run; it is created
    data : the data set
    everywhere : calls a function on every worker and returns results or exceptions by address

    Raises
    ------
    InputError
        Naming a worker and its problem.
    """
    token = f"probe-{secrets.token_hex(6)}"
    own = out / OWN
    make_folder(own, out)
    with explain_errors(out):
        (own / token).write_text("probe\n", encoding="utf-8")
    try:
        answers = everywhere(problem_here, str(out), token, data)
    finally:
        with suppress(OSError):
            (own / token).unlink()
    for address, answer in sorted(answers.items()):
        if isinstance(answer, InputError):
            raise InputError(
                f"worker {address}: {answer.what}", where=answer.where or "--out", hint=answer.hint
            ) from answer
        if isinstance(answer, BaseException):
            raise InputError(
                f"worker {address} cannot run distkern ({type(answer).__name__}: {answer})",
                where="--out",
                hint="install the same version of distkern on the workers",
            ) from answer
        if answer:
            raise InputError(
                f"worker {address} {answer}",
                where="--out",
                hint="use a path that this machine and all workers share",
            )
