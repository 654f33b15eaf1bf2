"""`distkern shard` and `predict` on files as other programs write them."""

import csv
import json

import numpy as np
import pytest

from distkern import NewtonClassifier
from distkern.cli.main import main
from distkern.data.dataset import open_dataset
from distkern.data.ingest import shard

HERE = ["--scheduler", "synchronous"]


def model_of(data, folder):
    NewtonClassifier(n_landmarks=8, gamma=1.0, nu=1e-3, scale="none", random_state=0).fit(data.train).save(
        folder
    )
    return str(folder)


def predicted(model, *arguments, out):
    assert main(["predict", model, *map(str, arguments), "--out", str(out), *HERE]) == 0
    with out.open(newline="") as file:
        return [row[-1] for row in csv.reader(file)][1:]


@pytest.fixture
def parts(tmp_path):
    """Files of 20 rows each, whose label is in the names of their folders but for the sign of x."""
    random = np.random.default_rng(0)
    labels = []
    for colour in ("blue", "red"):
        folder = tmp_path / "hive" / f"colour={colour}"
        folder.mkdir(parents=True)
        x = random.normal(size=20).round(3)
        label = (x > 0) ^ (colour == "red")
        labels += ["yes" if one else "no" for one in label]
        rows = [f"{at},{'yes' if one else 'no'}\n" for at, one in zip(x, label, strict=True)]
        (folder / "part-0.csv").write_text("x,y\n" + "".join(rows))
        (folder / "part-1.csv").write_text("x,y\n")
    (tmp_path / "hive" / "_SUCCESS").touch()
    return tmp_path / "hive", labels


def test_columns_in_the_names_of_folders(parts, tmp_path, capsys):
    hive, labels = parts
    told = []
    model = model_of(shard(hive, tmp_path / "d.zarr", target="y", notice=told.append), tmp_path / "m")
    assert "column 'colour' comes from the names of folders" in told
    assert any(one.startswith("2 files have no rows and are left out") for one in told)
    whole = predicted(model, hive, out=tmp_path / "p.csv")
    assert np.mean(np.array(whole) == labels) > 0.9
    errors = capsys.readouterr().err
    assert "note: column 'colour' comes from the names of folders" in errors
    assert "note: 2 files have no rows and are left out" in errors
    assert predicted(model, hive / "*" / "part*.csv", out=tmp_path / "q.csv") == whole
    assert predicted(model, hive / "colour=red", out=tmp_path / "r.csv") == whole[20:]
    assert predicted(model, hive / "colour=red" / "part-0.csv", out=tmp_path / "s.csv") == whole[20:]
    capsys.readouterr()
    plain = hive.parent / "plain.csv"
    plain.write_text("x\n1\n")
    assert main(["predict", model, str(plain), "--out", str(tmp_path / "t.csv"), *HERE]) == 2
    assert "column 'colour' is missing" in capsys.readouterr().err


def test_every_mark_of_a_dialect_can_be_said(tmp_path, capsys):
    rows = [(f'"part {at}', at % 5, "uv"[at % 2]) for at in range(40)]
    table = "".join(f"{name}\t{number}\t{label}\n" for name, number, label in rows)
    plain = tmp_path / "a.tsv"
    plain.write_text("made today\n\nname\tn\ty\n# of 40\n" + table)
    said = ["--no-quotes", "--comment", "#", "--skip-lines", "2"]
    out = tmp_path / "d.zarr"
    assert main(["shard", str(plain), "--id", "name", "--out", str(out), *said]) == 0
    assert "1 comment line is left out" in capsys.readouterr().out
    data = open_dataset(out)
    assert data.n_rows == 40
    model = model_of(data, tmp_path / "m")
    whole = predicted(model, plain, *said, out=tmp_path / "p.csv")
    assert len(whole) == 40
    with (tmp_path / "p.csv").open(newline="") as file:
        assert [row[0] for row in csv.reader(file)][1:] == [name for name, _, _ in rows]
    spaced = "".join(f' {number}   "a\\"\t{number}" \n' for _, number, _ in rows)
    (tmp_path / "b.txt").write_text("n  name\n" + spaced)
    said = ["--format", "csv", "--delimiter", "whitespace", "--escape", "\\"]
    assert predicted(model, tmp_path / "b.txt", *said, out=tmp_path / "q.csv") == whole
    capsys.readouterr()
    assert (
        main(["predict", model, "--data", str(out), "--comment", "#", "--out", str(tmp_path / "r.csv")]) == 2
    )
    assert "--comment has no effect on a data set" in capsys.readouterr().err


def test_rows_of_several_lines_are_told(tmp_path, capsys):
    rows = "".join(f'{at},"words\nof {at % 3}",{"uv"[at % 2]}\n' for at in range(12))
    (tmp_path / "a.csv").write_text("n,words,y\n" + rows)
    note = f"12 rows span several lines, the longest 2 ({tmp_path / 'a.csv'}, lines 2 to 3)"
    assert main(["shard", str(tmp_path / "a.csv"), "--check", "--json"]) == 0
    (told,) = [one for one in json.loads(capsys.readouterr().out)["notices"] if "span" in one]
    assert told.startswith(note)
    data = shard(tmp_path / "a.csv", tmp_path / "d.zarr", drop=["words"])
    model = model_of(data, tmp_path / "m")
    assert len(predicted(model, tmp_path / "a.csv", out=tmp_path / "p.csv")) == 12
    assert f"note: {note}" in capsys.readouterr().err
    # a mark that closes nothing: no predictions at all
    (tmp_path / "b.csv").write_text('n,words\n1,"a\n2,b\n3,"c\n4,d\n')
    assert main(["predict", model, str(tmp_path / "b.csv"), "--out", str(tmp_path / "q.csv"), *HERE]) == 2
    assert (
        "b.csv, line 2: a quotation mark opens a field here, and the next one in line 4"
        in capsys.readouterr().err
    )
    assert not (tmp_path / "q.csv").exists()
