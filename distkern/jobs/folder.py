"""The folder of a run, as a job sees it: record, signs of life, the wish that it stops, fences, log."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from distkern.common.errors import CorruptDataError, InputError, StoreError
from distkern.common.processes import birth, is_running
from distkern.common.urls import is_url
from distkern.engine.checkpoint import CheckpointFolder
from distkern.jobs.fence import Fence, claim, starts_at
from distkern.jobs.record import LOST_SECONDS, OVER, RUNNING, Record, from_json, state_of
from distkern.storage.atomic import explain_errors, write_text_atomic
from distkern.storage.description import json_object
from distkern.storage.places import Location, Place, absolute, place_of, remove_tree

_FOLDER = ".distkern-jobs"


class JobIndex:
    """The jobs of a folder of runs, found without a scheduler.

    Parameters
    ----------
    runs : the folder; where a run lies below it, the index names it by its path from there, so that hosts
        may see the store at different places
    """

    def __init__(self, runs: Location) -> None:
        self.runs = absolute(runs)
        self._folder = self.runs / _FOLDER

    def add(self, identifier: str, out: Place) -> None:
        """Write down where a job's run lies."""
        place, runs = str(absolute(out)), str(self.runs)
        text = place.removeprefix(runs).lstrip("/") if place.startswith(f"{runs.rstrip('/')}/") else place
        with explain_errors(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
        write_text_atomic(self._folder / f"{identifier}.json", json.dumps({"out": text}) + "\n")

    def names(self) -> list[str]:
        """The ids of all jobs, in order."""
        if not self._folder.is_dir():
            return []
        return sorted(path.stem for path in self._folder.iterdir() if path.suffix == ".json")

    def folder(self, identifier: str) -> JobFolder:
        """The run of a job.

        Raises
        ------
        InputError
            If there is no such job; the message names those there are.
        CorruptDataError
            If the index does not say where it is.
        """
        known = self.names()
        if identifier not in known:
            raise unknown_job(identifier, known, f"runs folder {self.runs}")
        file = self._folder / f"{identifier}.json"
        try:
            out = json_object(file.read_bytes())["out"]
            # no name of a file
            if not isinstance(out, str) or b"\0" in out.encode():
                raise ValueError(f"{out!r} is no place")
            # what does not lie below the runs is named in full
            return JobFolder(out if is_url(out) else self.runs / out)
        except (OSError, ValueError, KeyError):
            raise CorruptDataError(
                "does not say where the job is",
                where=str(file),
                mend='write {"out": "M"} there, M being its folder, or remove it',
            ) from None


def unknown_job(identifier: str, known: list[str], where: str) -> InputError:
    """The error for an id that is none of those ``known``."""
    shown = ", ".join(known[:10]) + (f" and {len(known) - 10} more" if len(known) > 10 else "")
    return InputError(
        f"no job {identifier!r}",
        where=where,
        mend=f"known are: {shown}" if known else "there are no jobs; give --runs FOLDER (or DISTKERN_RUNS)",
    )


#: what a job leaves in the folder of its run, beside what the run leaves
RECORD, LOG, CANCEL, OWN = "job.json", "log.jsonl", "cancel", ".job"
#: what a search leaves there of each trial
TRIALS = "tune/trials"
#: key of a sign of life: the driver is a process that somebody waits for, and no job of a scheduler
ATTACHED = "attached"


def attached_facts() -> dict[str, Any]:
    """What an attached run tells of itself with each sign of life."""
    pid = os.getpid()
    return {ATTACHED: True, "host": socket.gethostname(), "pid": pid, "born": birth(pid)}


class JobFolder:
    """A job's part of the folder ``out`` of its run.

    Attributes
    ----------
    path : the folder
    log : of events, one a line
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
        """Whether training has finished: ``model.json`` is written last, once, and whole."""
        return (self.path / "model.json").is_file()

    def progress(self) -> tuple[int, int]:
        """How far the run is: the trials of a search that are kept, and the last stage or -1."""
        try:
            n_trials = sum(file.name[:1] != "." for file in (self.path / TRIALS).iterdir())
        except (FileNotFoundError, NotADirectoryError):
            n_trials = 0
        stages = CheckpointFolder(self.path / "checkpoints", {}).stages()
        return n_trials, stages[-1] if stages else -1

    def record(self) -> Record:
        """What the folder says of its job.

        Raises
        ------
        InputError
            If there is none.
        """
        file = self.path / RECORD
        try:
            text = file.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            raise InputError(
                "holds no job (no job.json)",
                where=str(self.path),
                mend="give the folder that a job trains to",
            ) from None
        return from_json(text, str(file))

    def write(self, record: Record) -> None:
        """Replace the record, whole or not at all."""
        with explain_errors(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
        write_text_atomic(self.path / RECORD, record.to_json())

    def discard(self) -> None:
        """Remove a folder in which nothing was trained; what others put there stays."""
        remove_tree(self._own)
        with suppress(OSError):
            self.path.rmdir()

    # -- signs of life

    def beat(self, facts: dict[str, Any]) -> None:
        """Write down that the driver is alive, and what it is at."""
        write_text_atomic(self._own / "heartbeat", json.dumps({"time": time.time(), **facts}) + "\n")

    def pulse(self) -> dict[str, Any]:
        """The last sign of life: ``time`` and what the driver was at; empty if there was none."""
        try:
            pulse = json_object((self._own / "heartbeat").read_text(encoding="utf-8"))
        except (OSError, ValueError, StoreError):
            return {}
        # what says nothing is as good as none
        return pulse if isinstance(pulse.get("time"), int | float) else {}

    def state(self, now: float | None = None) -> str:
        """The job's state: one of :data:`distkern.jobs.record.STATES`."""
        if self.is_attached():
            return RUNNING
        return state_of(
            self.record(),
            self.pulse().get("time"),
            asked_to_stop=self.asked_to_stop(),
            has_model=self.has_model,
            now=time.time() if now is None else now,
        )

    def is_attached(self) -> bool:
        """Whether a process that is no job of a scheduler (``distkern train``) trains to this folder now."""
        return _lives(self.pulse())

    # -- stopping

    def ask_to_stop(self) -> None:
        """Ask the job's driver to stop at its next look."""
        with explain_errors(self.path):
            (self.path / CANCEL).touch()

    def asked_to_stop(self) -> bool:
        """Whether somebody asked the job to stop."""
        return (self.path / CANCEL).exists()

    def go_on(self) -> None:
        """Take back the wish that it stops."""
        with explain_errors(self.path):
            (self.path / CANCEL).unlink(missing_ok=True)

    # -- who drives

    def claim(self, progress: Sequence[int] = ()) -> Fence:
        """Become the job's driver; an older one stops at its next look."""
        return claim(self._own, progress)

    def starts_at(self, progress: Sequence[int]) -> int:
        """How many of the last drivers, in a row, started when the job was as far as ``progress`` says."""
        return starts_at(self._own, progress)

    def release(self, fence: Fence) -> None:
        """Give up the claim of an attached run that is over, and leave nothing of it."""
        if not fence.holds():
            return
        if self.has_job:
            (self._own / "heartbeat").unlink(missing_ok=True)
        else:
            self.discard()

    def refuse_if_attached(self) -> None:
        """Raise :class:`InputError` if an attached run trains to this folder now."""
        pulse = self.pulse()
        if _lives(pulse):
            raise InputError(
                f"process {pulse.get('pid')} on {pulse.get('host')} is training to it",
                where=str(self.path),
                mend="wait for it, stop it there with Ctrl-C, or use another folder; a run that has been "
                f"silent for {LOST_SECONDS:.0f} seconds counts as lost",
            )

    def refuse_if_driven(self) -> None:
        """Raise :class:`InputError` if a job of this folder is waiting or running, or an attached run is."""
        self.refuse_if_attached()
        if not self.has_job:
            return
        try:
            record, state = self.record(), self.state()
        except CorruptDataError:
            # half a disk's worth of trouble must not lock the folder
            return
        if state not in OVER:
            raise InputError(
                f"is the folder of job {record.id}, which is {state}",
                where=str(self.path),
                mend=f"wait for it ({record.command('logs', '--follow')}), stop it "
                f"({record.command('cancel')}), or use another folder; a job that has been silent for "
                f"{LOST_SECONDS:.0f} seconds counts as lost",
            )


def _lives(pulse: Mapping[str, Any]) -> bool:
    """Whether a sign of life is of an attached run that still goes on."""
    if not pulse.get(ATTACHED) or time.time() - pulse.get("time", 0.0) > LOST_SECONDS:
        return False
    if pulse.get("host") != socket.gethostname():
        return True
    try:
        return is_running(int(pulse["pid"]), str(pulse.get("born", "")))
    except (KeyError, TypeError, ValueError):
        return True
