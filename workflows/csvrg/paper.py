"""What Tan et al. 2019 reports: Table 2, for the data sets that are measured here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

#: accuracy in % and its standard deviation over ten repeats; None: not within two hours or the memory
Accuracy: TypeAlias = tuple[float, float] | None


@dataclass(frozen=True)
class Reported:
    """One data set of Table 2.

    Attributes
    ----------
    landmarks, avm_landmarks : core points of CSVRG and of the AVM
    rows : of Table 1, training and test rows together
    about : how the rows differ from those here
    """

    csvrg: Accuracy
    avm: Accuracy
    odm: Accuracy
    svm: Accuracy
    landmarks: int
    avm_landmarks: int
    rows: int
    about: str


TABLE_2 = {
    "a9a": Reported(
        (84.26, 0.20),
        (81.46, 0.35),
        (85.29, 0.03),
        (84.79, 0.00),
        128,
        338,
        48_842,
        "The spread of 0.00 of its LIBSVM suggests that its test rows are those of the LIBSVM page, as here.",
    ),
    "ijcnn1": Reported(
        (91.33, 0.07),
        (90.45, 0.01),
        None,
        (99.31, 0.03),
        296,
        502,
        141_691,
        "The test rows here are those of the LIBSVM page, of which 90.5 % are of the larger class: the "
        "paper's AVM is no better than a constant.",
    ),
    "covtype": Reported(
        (73.22, 0.17),
        (70.25, 0.28),
        None,
        None,
        132,
        132,
        581_012,
        "Class 2 against the rest; here one random fifth of all rows is the test rows of every seed. Which "
        "landmarks a coverage has depends on the order of the scan, which alone moves accuracies by more "
        "than a point here; the paper does not say its order.",
    ),
}


def text(accuracy: Accuracy) -> str:
    """As the table has it."""
    return "none" if accuracy is None else f"{accuracy[0]:.2f} ± {accuracy[1]:.2f}"
