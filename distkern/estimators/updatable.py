"""What estimators have for updates: what is kept of a fit, and fits that begin from a fitted model."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

from numpy.typing import ArrayLike

from distkern.common.python_words import in_python
from distkern.solvers.base import cannot_go_on

if TYPE_CHECKING:
    from distkern.common.types import AbstractSource
    from distkern.estimators.estimator import AbstractEstimator
    from distkern.runs.persistence import SavedForUpdate, StoredForUpdate
    from distkern.runs.update import UpdateRun
    from distkern.solvers.base import AbstractSolver, Problem
    from distkern.storage.dataset import Split


#: updates that a model tells of, at most
_MOST_TOLD = 100


class Updatable:
    """An estimator that may be updated; its algorithm says how, in :meth:`_begun`."""

    name: ClassVar[str]
    updates_: tuple[dict[str, Any], ...]
    #: what is kept for updates; of a loaded model, where that is
    _further: SavedForUpdate | StoredForUpdate | None = None
    #: the model that a fit begins from, in an update
    _begins: UpdateRun | None = None

    @in_python
    def update(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        old: Any = None,
        verbose: bool = False,
    ) -> Self:
        """Learn from new rows, going on from what has been learned.

        Landmarks, gamma, scaling, maps, encodings and weights of classes stay what they are, and so do the
        hyperparameters. What the model is then the minimum of depends on the algorithm:

        - Newton with the square loss, where it has made the matrix of all rows for up to 2,048 functions: of
          its objective over old and new rows, exactly. The old rows are not needed.
        - Newton with other losses, RBCD, SVRG and CSVRG: likewise, and they read the old rows again.
        - Cells: the machines of cells that get new rows are solved again from their old and new rows, all
          others stay to the bit, and so do map, kernel, C and the sigmoids of probabilities.
        - DSG, Pegasos, AVM, NORMA and SBMD go on with the steps of their papers over the new rows, counting
          on: the expected loss over the stream of all rows so far.

        Parameters
        ----------
        X, y, sample_weight : the new rows, as ``fit`` takes them in memory; or a split of a data set
        old : the rows that it has learned from so far, where they are to be read again: a tuple (X, y) or
            (X, y, sample_weight), a split, or a list of those
        verbose : show progress, as ``fit`` does

        Returns
        -------
        self

        Raises
        ------
        InputError
            If the algorithm cannot go on from a model, old rows are missing, or there is a label that the
            model does not know; the message says what to do instead.
        """
        from distkern.estimators.updating import update_estimator
        from distkern.monitor.terminal import progress_display

        with ExitStack() as stack:
            listeners = [stack.enter_context(progress_display())] if verbose else []
            update_estimator(
                cast("AbstractEstimator", self), X, y, sample_weight, old=old, listeners=listeners
            )
        return self

    def _begin(self, begins: UpdateRun) -> None:
        """Let the next fit begin from this model."""
        self._begins = begins

    def _end(self, further: SavedForUpdate, told: dict[str, Any]) -> None:
        """Take what an update leaves: what is kept for the next one, and what is told of this one."""
        self._begins, self._further = None, further
        number = 1 + (self.updates_[-1]["number"] if self.updates_ else 0)
        self.updates_ = (*self.updates_[1 - _MOST_TOLD :], {"number": number, **told})

    def _begun(self, solver: AbstractSolver[Any], problem: Problem) -> tuple[AbstractSolver[Any], Problem]:
        """The solver of an update, which begins from this model, and its problem.

        Raises
        ------
        InputError
            If the algorithm cannot go on from a model.
        """
        assert self._begins is not None, "only updates begin from a model"
        raise cannot_go_on(self.name, solver.updates.refusal)

    def _as_own(self, split: Split) -> AbstractSource:
        """A split of another data set, with the features and class codes of this model."""
        from distkern.runs.update import UpdateRows, update_data

        return update_data(self, [UpdateRows.of_split(self, split)]).source
