"""Growth with the rows: what is generated, exponents, and the report."""

import math

import numpy as np
import pytest

from workflows.records import Records
from workflows.scale import daily, peers, rows, tables


def test_pieces_depend_on_seed_and_number_alone(monkeypatch):
    few, more = (next(rows.pieces(n, rows.TRAIN, "class")) for n in (500, 500))
    np.testing.assert_array_equal(few[0], more[0])
    monkeypatch.setattr(rows, "PIECE", 400)
    first, second, third = rows.pieces(1000, rows.TRAIN, "class")
    assert [len(piece[1]) for piece in (first, second, third)] == [400, 400, 200]
    assert not np.array_equal(first[0][:200], third[0])
    (other,) = rows.pieces(400, rows.TEST, "class")
    assert not np.array_equal(first[0], other[0])


def test_half_of_the_classes_and_the_noise_that_is_said():
    (piece,) = rows.pieces(20_000, rows.TRAIN, "class")
    assert 0.4 < piece[1].mean() < 0.6
    (real,) = rows.pieces(20_000, rows.TRAIN, "real")
    np.testing.assert_array_equal(real[0], piece[0])
    # the sign of what has no noise is the label, but for 5 %; the variance of the sum of two waves is 1
    f = real[1]
    assert 0.9 < f.var() - rows.NOISE**2 < 1.1
    clear = np.abs(f) > 4 * rows.NOISE
    assert np.mean((f > 0)[clear] != piece[1][clear]) == pytest.approx(rows.WRONG, abs=0.01)


@pytest.mark.parametrize("target", rows.TARGETS)
def test_files_are_what_was_generated(tmp_path, target, monkeypatch):
    rows.write(tmp_path / "a.npy", 700, rows.TEST, target)
    monkeypatch.setattr(peers, "PIECE", 300)
    read = [np.concatenate(parts) for parts in zip(*peers.read(tmp_path / "a.npy"), strict=True)]
    X, y = next(rows.pieces(700, rows.TEST, target))
    np.testing.assert_array_equal(read[0], X)
    np.testing.assert_allclose(read[1], y, rtol=1e-6)
    assert peers.error(lambda X: np.zeros(len(X)), tmp_path / "a.npy", target) == pytest.approx(
        np.mean(y) if target == "class" else np.sqrt(np.mean(np.square(y))), rel=1e-5
    )


def test_exponents_of_powers_and_their_intervals():
    sizes = [1e5, 1e6, 1e7, 1e8]
    assert tables.exponent(sizes, [3 * n**0.8 for n in sizes]) == pytest.approx((0.8, 0.0), abs=1e-9)
    slope, half = tables.exponent(sizes[:2], [1.0, 100.0])
    assert slope == pytest.approx(2.0)
    assert math.isnan(half)
    # of 0, 1, 2, 2.8 at 0, 1, 2, 3: residuals -.04, .02, .08, -.06, and Student's t of two degrees of freedom
    slope, half = tables.exponent([1, 10, 100, 1000], [1.0, 10.0, 100.0, 10**2.8])
    assert slope == pytest.approx(0.94)
    assert half == pytest.approx(4.302653 * math.sqrt(0.012 / 2 / 5), rel=1e-3)


def test_the_report_has_what_was_measured(tmp_path):
    records = Records(tmp_path)
    for n in (1000, 10_000):
        one = {"asked": {"rows": n}, "wall_seconds": n / 100, "cpu_seconds": n / 50, "worker_peak": 2**27}
        records.put(
            f"newton/class/{n}", {**one, "error": 0.1, "bytes": 10**6, "predict": {"failed": "killed"}}
        )
        records.put(f"sgd/real/{n}", {**one, "error": 0.5})
    killed = {"asked": {"rows": 1000}, "killed": 7, "same_bits": False, "all_seconds": 61.2}
    records.put("killed/newton/class/1000", killed)
    more = {"asked": {"rows": 10_000}, "wall_seconds": 25.0, "cpu_seconds": 210.0, "bits": "b", "error": 0.1}
    records.put("workers-8/newton/class/10000", more)
    records.put("workers-16/newton/class/10000", {**more, "bits": "c", "wall_seconds": 12.5})
    records.put("workers-16/cells/class/10000", more)
    records.put("workers-8/killed/newton/class/10000", {**killed, "asked": {"rows": 10_000, "workers": 8}})
    records.put("workers-8/newton/real/10000", {"asked": {"rows": 10_000}, "failed": "took more than 60 s"})
    of_class, of_real, exponents, more, killed = (section[0].rows for section in tables.sections(records))
    assert of_class[0] == ("**newton**", "1,000", "10.00 %", "10", "20", "128", "", "1", "killed", "")
    assert of_real[1] == ("sgd", "10,000", "0.5000", "100", "200", "128", "", "", "", "")
    assert exponents[0] == ("**newton**", "class", "1,000 to 10,000", "1.00", "1.00", "0.00", "", "0.00")
    assert more[1][:5] == ("**newton**", "class", "10,000", "2", "100")
    newton = more[1:]
    assert more[0][6:] == ("1.0", "100 %", "", "", "")
    assert newton[0][6:] == ("1.0", "100 %", "", "OTHER BITS", "")
    assert newton[1][3:8] == ("8", "25", "210", "4.0", "100 %")
    assert newton[2][3:8] == ("16", "12", "210", "8.0", "100 %")
    # what failed is told, and not left out
    assert more[4] == ("**newton**", "real", "10,000", "8", "took more than 60 s", *[""] * 6)
    assert killed == [
        ("**newton**", "class", "1,000", "2", "7", "61", "OTHER BITS"),
        ("**newton**", "class", "10,000", "8", "7", "61", "OTHER BITS"),
    ]


def test_updates_stand_beside_models_that_are_trained_anew(tmp_path):
    records = Records(tmp_path)
    for number in range(11):
        records.put(f"updated/dsg/{number}", {"cpu_seconds": 5.0, "error": 0.2})
        if number:
            records.put(f"anew/dsg/{number}", {"cpu_seconds": 10.0 * number, "error": 0.1})
    [(table, plots)] = daily.sections(records)
    # in the order of the parts, not of their names
    assert [row[1] for row in table.rows] == [f"{part}" for part in range(2, 12)]
    assert table.rows[-1] == ("dsg", "11", "5.0", "100.0", "0.05", "20.00 %", "10.00 %")
    assert plots[0].lines["dsg, updated"][-1] == (11.0, 5.0)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_command_measures_and_goes_on(tmp_path, command):
    pytest.importorskip("lightgbm")
    asked = ["scale", "--out", str(tmp_path), "--rows", "2000", "--job", "newton", "--kills", "2"]
    command(*asked)
    records = Records(tmp_path / "records")
    killed = records.get("killed/newton/class/2000")
    assert killed["same_bits"] is True
    assert killed["killed"] > 0
    assert records.get("newton/real/2000")["error"] < 1.2
    text = (tmp_path / "report" / "report.md").read_text()
    assert all(part in text for part in ("| lightgbm | 2,000 |", "the same bits", "Rows with a real target"))
    assert "..." not in command(*asked)
