"""In Python, messages name Python's parameters; at the command line, its options."""

import numpy as np
import pytest

import distkern as dk
from distkern.core.errors import InputError, Problems
from distkern.core.python_words import in_python, in_python_words
from distkern.data import ingest

X, Y = np.arange(20.0).reshape(10, 2), np.arange(10) % 2


@pytest.mark.parametrize(
    ("shell", "python"),
    [
        ("shard with --scale minmax", "shard with scale='minmax'"),
        ("give --dense", "give sparse=False"),
        ("shard it again without --no-shuffle", "shard it again without shuffle=False"),
        ("smaller cells (--set max_cell_rows=500)", "smaller cells (max_cell_rows=500)"),
        ("matrices (--set hessian=products)", "matrices (hessian='products')"),
        ("give --task regression if", "give task='regression' if"),
        ("--rows-per-shard 20 or less", "rows_per_shard=20 or less"),
        ("raise --memory-limit", "raise memory_limit"),
        ("`distkern shard --overwrite`, or --overwrite", "`distkern shard --overwrite`, or overwrite=True"),
        ("(--id key makes it the row id)", "(id='key' makes it the row id)"),
        ("leave it out, or --drop those columns", "leave it out, or drop those columns"),
        ("a range -- not -1", "a range -- not -1"),
    ],
)
def test_options_become_parameters(shell, python):
    assert in_python_words(shell) == python


def test_public_functions_speak_python_and_what_they_call_does_not(tmp_path):
    there, notes = tmp_path / "there.zarr", tmp_path / "notes.txt"
    notes.write_text("mine")
    dk.write_dataset(X, Y, there)
    for _ in range(2):
        with pytest.raises(InputError, match="already exists; give overwrite=True or another path") as error:
            dk.write_dataset(X, Y, there)
        assert error.value.hint == "give overwrite=True or another path"
        with pytest.raises(InputError, match="already exists; give --overwrite or another --out"):
            ingest.write_dataset([(X, Y)], there)
    # what is no data set is not overwritten
    with pytest.raises(InputError, match=r"notes\.txt already exists; give another path$"):
        dk.write_dataset(X, Y, notes)
    with pytest.raises(InputError, match=r"test_fraction must be between 0 and 1, such as 0\.2, got 3\.0"):
        dk.write_dataset(X, Y, tmp_path / "d.zarr", test_fraction=3.0)


def test_several_problems_are_reworded():
    @in_python
    def fails():
        raise Problems([InputError("a", hint="give --overwrite"), InputError("b", where="--scale")])

    with pytest.raises(Problems) as error:
        fails()
    assert str(error.value) == "a; give overwrite=True\nscale: b"
