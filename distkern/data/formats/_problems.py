"""Problems of the columns of tables."""

from __future__ import annotations

from distkern.core.errors import InputError, Problems


class Refusals:
    """Problems of the columns of tables: raised at once, or collected and reported together.

    Attributes
    ----------
    collects : collect problems instead of raising them
    problems : the first problem of each column, by name
    """

    def __init__(self) -> None:
        self.collects = False
        self.problems: dict[str, InputError] = {}
        # by column and hint: one remedy, one problem
        self._found: dict[tuple[str, str | None], InputError] = {}
        self._n_refused: dict[tuple[str, str | None], int] = {}

    def refuse(self, key: str, error: InputError, count: int = 1) -> None:
        """Raise a problem of ``count`` rows of a column (0: not of single rows), or collect it for
        :meth:`raise_problems`.
        """
        if not self.collects:
            raise error
        self.problems.setdefault(key, error)
        self._found.setdefault((key, error.hint), error)
        self._n_refused[key, error.hint] = self._n_refused.get((key, error.hint), 0) + count

    def raise_problems(self) -> None:
        """Raise all collected problems at once, each at its first row with the number of further rows."""
        found = []
        for key, error in self._found.items():
            more = self._n_refused[key] - 1
            what = f"{error.what} (and {more:,} more row{'s' * (more > 1)})" if more > 0 else error.what
            found.append(InputError(what, where=error.where, hint=error.hint))
        if found:
            raise found[0] if len(found) == 1 else Problems(found)
