"""Which jobs there are: a file for each, in the folder where runs lie side by side."""

from __future__ import annotations

import json

from distkern.common.errors import CorruptDataError, InputError
from distkern.common.urls import is_url
from distkern.jobs.folder import JobFolder
from distkern.storage.atomic import explain_errors, write_text_atomic
from distkern.storage.description import json_object
from distkern.storage.places import Location, Place, absolute

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
