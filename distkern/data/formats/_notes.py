"""Notes for users about files that were read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

_SHOWN = 5


@dataclass(slots=True)
class FileNotes:
    """Counts and sentences about some files, filled while they are read.

    Attributes
    ----------
    blank_lines : number of blank lines of text files
    empty_rows : number of rows with delimiters only
    repeated_headers : number of repeated header lines, as in concatenated files
    comments : number of comment lines
    long_rows : number of rows that span several lines
    longest : number of lines of the longest of these, and its place
    missing_targets : number of rows without a target, which are left out
    empty_files : files without rows, which are left out
    sentences : other notes, each once
    """

    blank_lines: int = 0
    empty_rows: int = 0
    repeated_headers: int = 0
    comments: int = 0
    long_rows: int = 0
    longest: tuple[int, str] = (1, "")
    missing_targets: int = 0
    empty_files: list[str] = field(default_factory=list)
    sentences: dict[str, None] = field(default_factory=dict)

    def say(self, sentence: str) -> None:
        """Add a sentence without full stop, once for all files."""
        self.sentences[sentence] = None

    def of_folders(self, names: Sequence[str]) -> None:
        """Note which columns come from the names of folders."""
        if names:
            shown = ", ".join(map(repr, names))
            columns = _s(len(names), f"columns {shown} come", f"column {shown} comes")
            self.say(f"{columns} from the names of folders")

    def lines(self) -> list[str]:
        """Return the notes, a sentence each."""
        lines = []
        if self.blank_lines:
            lines.append(
                f"{_count(self.blank_lines, 'blank line')} {_s(self.blank_lines, 'are no rows', 'is no row')}"
            )
        if self.repeated_headers:
            repeated = _count(self.repeated_headers, "line")
            lines.append(f"the header is repeated in {repeated} of the input, left out")
        if self.comments:
            lines.append(f"{_count(self.comments, 'comment line')} {_s(self.comments, 'are', 'is')} left out")
        if self.empty_rows:
            rows = _count(self.empty_rows, "row")
            lines.append(f"{rows} without any value {_s(self.empty_rows, 'are', 'is')} left out")
        if self.missing_targets:
            rows = _count(self.missing_targets, "row")
            lines.append(f"{rows} without a target {_s(self.missing_targets, 'are', 'is')} left out")
        if self.long_rows:
            length, place = self.longest
            several = _s(
                self.long_rows, f"span several lines, the longest {length:,}", f"spans {length:,} lines"
            )
            lines.append(
                f"{_count(self.long_rows, 'row')} {several} ({place}), within quotation marks (--no-quotes "
                "makes each line a row)"
            )
        if self.empty_files:
            shown = ", ".join(self.empty_files[:_SHOWN])
            more = len(self.empty_files) - _SHOWN
            shown += f" and {more:,} more" if more > 0 else ""
            several = _s(len(self.empty_files), "have no rows and are", "has no rows and is")
            lines.append(f"{_count(len(self.empty_files), 'file')} {several} left out: {shown}")
        return [*lines, *self.sentences]


def _count(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"


def _s(count: int, several: str, one: str) -> str:
    return one if count == 1 else several
