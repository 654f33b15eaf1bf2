"""Sharding takes the same memory for any number of rows."""

from pathlib import Path

import pandas
import pytest

from memory_processes import run
from mixed_tables import adult

#: VmHWM and not ru_maxrss: a child inherits the latter
CODE = """
import sys
import numpy as np
from distkern.data.ingest import shard, write_dataset
what, rows, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]
if what == "generated":
    def chunks():
        for number in range(rows // 10_000):
            generator = np.random.default_rng(number)
            yield generator.normal(size=(10_000, 50)), np.arange(10_000) % 2
    data = write_dataset(chunks(), folder + "/d.zarr", scale="standard", test_fraction=0.2,
                         rows_per_shard=20_000)
else:
    data = shard(folder + "/a." + what, folder + "/d.zarr", rows_per_shard=20_000)
assert data.n_rows + (data.test.n_rows if data.test else 0) == rows
for line in open("/proc/self/status"):
    if line.startswith("VmHWM"):
        print(int(line.split()[1]) * 1024)
"""
FILE = """
import sys
import numpy as np
what, rows, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]
if what == "npz":
    X = np.random.default_rng(0).normal(size=(rows, 50))
    np.savez(folder + "/a.npz", X=X, y=np.arange(rows) % 2)
else:
    block = "".join(f"{i % 2} " + " ".join(f"{j}:{i % 97 + j / 8}" for j in range(1, 51, 2)) + "\\n"
                    for i in range(5000))
    with open(folder + "/a.svm", "w") as file:
        for _ in range(rows // 5000):
            file.write(block)
"""


def write_table(path, rows, seed=0):
    """A CSV file of rows with categories, dates and missing values."""
    for part in range(0, rows, 100_000):
        frame = adult(100_000, seed + part)
        frame.to_csv(path, mode="a", header=not part, index=False)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peaks are read from Linux's /proc")
@pytest.mark.parametrize("what", ["generated", "npz", "svm", "csv"])
def test_peak_does_not_grow_with_the_rows(tmp_path, what):
    peaks = []
    for rows in (400_000, 1_200_000):
        folder = tmp_path / str(rows)
        folder.mkdir()
        if what == "csv":
            write_table(folder / "a.csv", rows)
        elif what != "generated":
            run(FILE, what, str(rows), str(folder), folder=folder)
        peaks.append(int(run(CODE, what, str(rows), str(folder), folder=folder)))
    # several runs each; 800,000 more rows are 160 MB of float32 features: holding a fifth of them would show
    assert peaks[1] < peaks[0] + 30e6
    assert peaks[1] < 450e6


#: shards and pieces of a tenth of the usual size, so that a few rows are many of them
COPY = """
import sys
import numpy as np
from scipy import sparse
from distkern.data import _transpose
from distkern.data.ingest import add_columns, write_dataset
what, step, rows, folder = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
_transpose._BLOCK_BYTES //= 10
_transpose._MOST_ENTRIES //= 10
if step == "rows":
    def chunks():
        for number in range(rows // 5_000):
            generator = np.random.default_rng(number)
            if what == "dense":
                features = generator.random((5_000, 200), dtype="f4")
            else:
                places = generator.integers(0, 5_000, 500_000), generator.integers(0, 50_000, 500_000)
                features = sparse.csr_array((np.ones(500_000, "f4"), places), shape=(5_000, 50_000))
            yield features, np.arange(5_000) % 2
    write_dataset(chunks(), folder + "/d.zarr", scale="none", shuffle=False, rows_per_shard=2_000)
else:
    assert add_columns(folder + "/d.zarr").n_rows == rows
    for line in open("/proc/self/status"):
        if line.startswith("VmHWM"):
            print(int(line.split()[1]) * 1024)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peaks are read from Linux's /proc")
@pytest.mark.parametrize("what", ["dense", "sparse"])
def test_the_peak_of_the_feature_major_copy_does_not_grow_with_the_rows(tmp_path, what):
    peaks = []
    for rows in (40_000, 320_000):
        folder = tmp_path / str(rows)
        folder.mkdir()
        run(COPY, what, "rows", str(rows), str(folder), folder=folder)
        peaks.append(int(run(COPY, what, "columns", str(rows), str(folder), folder=folder)))
    # 280,000 more rows are 224 MB in either form, and a group of the larger set takes 32 MB
    assert peaks[1] < peaks[0] + 15e6
    assert peaks[1] < 150e6


#: each command in a process of its own
COMMAND = """
import sys
from distkern.cli.main import main
assert main(sys.argv[2:]) == 0
for line in open("/proc/self/status"):
    if line.startswith("VmHWM"):
        print(int(line.split()[1]) * 1024)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peaks are read from Linux's /proc")
def test_a_million_rows_of_a_table_in_three_commands_under_512_mib(tmp_path):
    old, new, data, model = (str(tmp_path / name) for name in ("old.csv", "new.csv", "d.zarr", "m"))
    write_table(tmp_path / "old.csv", 1_000_000)
    write_table(tmp_path / "new.csv", 100_000, seed=1000)
    here = ["--scheduler", "synchronous", "--memory-limit", "512MiB"]
    for command in (
        ["shard", old, "--out", data],
        ["train", "--data", data, "--algorithm", "newton", "--set", "n_landmarks=64", "--out", model, *here],
        ["predict", model, new, "--out", str(tmp_path / "p.csv"), *here],
    ):
        told = run(COMMAND, "_", *command, folder=tmp_path)
        assert int(told.splitlines()[-1]) < 512 * 2**20, command[0]
    predicted = pandas.read_csv(tmp_path / "p.csv")["prediction"]
    labels = pandas.read_csv(new, usecols=["income"])["income"]
    assert (predicted == labels).mean() > 0.78
