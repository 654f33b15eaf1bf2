"""Job files, flags and --set."""

import subprocess
import sys

import pytest

from distkern.cli.job import CHOSEN, Job, make_estimator, parse_settings, resolve_job
from distkern.core.common_parameters import CHOICE
from distkern.core.errors import InputError
from distkern.core.parameters import parse_bytes
from distkern.runs.algorithms import algorithms
from distkern.solvers.base import SOLVERS
from distkern.solvers.hyperparameters import hyperparameters_of


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("512MiB", 512 * 2**20),
        ("2g", 2 * 10**9),
        ("1.5 KiB", 1536),
        ("1048576", 2**20),
        ("7b", 7),
        ("1Gi", 2**30),
        (".5MB", 500_000),
    ],
)
def test_sizes(text, size):
    assert parse_bytes(text) == size


@pytest.mark.parametrize("text", ["", "MiB", "12 parsecs", "-5MB", "0", "1e3", "nan"])
def test_wrong_sizes_are_refused(text):
    with pytest.raises(InputError, match="512MiB"):
        parse_bytes(text)


def test_a_number_without_a_unit_is_not_taken_for_a_few_bytes():
    with pytest.raises(InputError, match="must have a unit, got 2; write for instance 2MiB"):
        parse_bytes("2")


def test_set_reads_toml_values_and_bare_words():
    settings = [
        "gamma=4.0",
        "n_landmarks=512",
        "loss=odm",
        "option=II",
        "projection = false",
        'kernel="rbf"',
        "step_size=1e-3",
        "nu=.5",
        "mu=-1.e-2",
        "landmarks=a=b",
    ]
    values = parse_settings(settings)
    assert values == {
        "gamma": 4.0,
        "n_landmarks": 512,
        "loss": "odm",
        "option": "II",
        "projection": False,
        "kernel": "rbf",
        "step_size": 0.001,
        "nu": 0.5,
        "mu": -0.01,
        "landmarks": "a=b",
    }
    assert type(values["n_landmarks"]) is int


def test_set_is_one_value():
    assert parse_settings(["gamma=1\nseed=2"]) == {"gamma": "1\nseed=2"}


@pytest.mark.parametrize("settings", [["gamma"], ["=4"], ["a b=1"], ["gamma=1", "gamma=2"]])
def test_wrong_settings_are_refused(settings):
    with pytest.raises(InputError, match="--set"):
        parse_settings(settings)


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


JOB = """
algorithm = "avm"
data = "d.zarr"
seed = 3
memory_limit = "512MiB"
[params]
gamma = 2.0
lam = 8.0
"""


def test_flags_and_settings_override_the_file(tmp_path):
    path = write(tmp_path / "job.toml", JOB)
    job = resolve_job(path, {"seed": None, "workers": None})
    expected = Job(
        algorithm="avm", data="d.zarr", seed=3, memory_limit=2**29, params={"gamma": 2.0, "lam": 8.0}
    )
    assert job.model_dump() == expected.model_dump()
    flags = {"seed": 5, "algorithm": "csvrg", "data": None, "memory_limit": 2**30}
    job = resolve_job(path, flags, ["lam=1.5"])
    assert (job.algorithm, job.data, job.seed, job.memory_limit) == ("csvrg", "d.zarr", 5, 2**30)
    assert job.params == {"gamma": 2.0, "lam": 1.5}


def test_a_job_file_for_workers_here_may_go_elsewhere(tmp_path):
    path = write(tmp_path / "job.toml", 'data = "d.zarr"\nworkers = 2')
    assert resolve_job(path, {"scheduler": "tcp://10.0.0.5:8786"}).workers == 2
    with pytest.raises(InputError, match="has its own workers"):
        resolve_job(path, {"scheduler": "tcp://10.0.0.5:8786", "workers": 3})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('dta = "d.zarr"', "job.toml: unknown key 'dta'; did you mean 'data'?"),
        ('data = "d"\nseed = "3"', "key 'seed'"),
        ('data = "d"\nseed = -1', "key 'seed'"),
        ('data = "d"\nworkers = 0', "key 'workers'"),
        ('data = "d"\nworkers = true', "key 'workers'"),
        ('data = "d"\nmemory_limit = "big"', "key 'memory_limit'.*512MiB"),
        ('data = "d"\nscheduler = "slurm"', "key 'scheduler'.*tcp://"),
        ('data = "d"\nscheduler = "synchronous"\nworkers = 2', "key 'workers': scheduler 'sync.*threads"),
        ('data = "d"\nparams = 3', "'params' is not a table"),
        ("data = d", "not a TOML file"),
        ("seed = 1", "no data set given"),
    ],
)
def test_wrong_job_files_are_refused_by_name(tmp_path, text, message):
    with pytest.raises(InputError, match=message) as caught:
        resolve_job(write(tmp_path / "job.toml", text), {})
    assert "job.toml" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_wrong_flag_is_named_as_one():
    with pytest.raises(InputError, match=r"^--scheduler: "):
        resolve_job(None, {"data": "d", "scheduler": "slurm"})


def test_the_estimator_of_a_job():
    estimator = make_estimator(
        Job(data="d", algorithm="csvrg", seed=7, params={"gamma": 0.5, "n_landmarks": 9})
    )
    assert type(estimator).__name__ == "CSVRGClassifier"
    assert (estimator.gamma, estimator.n_landmarks, estimator.random_state) == (0.5, 9, 7)


def test_without_an_algorithm_one_is_chosen_within_the_limit():
    estimator = make_estimator(Job(data="d", memory_limit=2**29, params={"search": "quick"}))
    assert type(estimator).__name__ == "KernelClassifier"
    assert (estimator.search, estimator.memory_limit) == ("quick", 2**29)


@pytest.mark.parametrize(
    ("job", "message"),
    [
        (
            Job(data="d", params={"diameter": 1.0}),
            "belongs to some algorithms only.*add --algorithm with one of avm, csvrg",
        ),
        (Job(data="d", params={"random_state": 1}), "--seed"),
        (
            Job(data="d", algorithm="csvrg", params={"gamma": -1.0}),
            "'gamma' must be a positive number, 'median'",
        ),
        (
            Job(data="d", algorithm="csvrg", params={"n_landmarks": "many"}),
            "'n_landmarks' must be an integer >= 1 or none, got 'many'",
        ),
    ],
)
def test_wrong_names_get_the_nearest_right_one(job, message):
    with pytest.raises(InputError, match=message):
        make_estimator(job)


def test_settings_of_what_is_chosen_are_taken_without_its_name():
    given = {"C": 0.3, "max_cell_rows": 1000, "metric": "none", "search": "quick"}
    estimator = make_estimator(Job(data="d", params=given))
    assert estimator.settings == {"C": 0.3, "max_cell_rows": 1000, "metric": None}
    assert estimator.search == "quick"


def test_names_are_known_without_an_import():
    assert {name.removesuffix("_regressor") for name in algorithms()} == {*SOLVERS, CHOSEN}
    for name, kind in algorithms().items():
        solver = name.removesuffix("_regressor")
        known = {*CHOICE, "probability"} if solver == CHOSEN else hyperparameters_of(SOLVERS[solver])
        names = {*known, "class_weight", "threshold", "scale", "metric", "dtype"}
        # threads are the workers of a job
        assert {*kind().get_params()} - {"random_state", "n_jobs"} <= names


def test_unknown_names_are_refused_before_the_estimators_are_imported(tmp_path):
    code = (
        "import sys; from distkern.cli.main import main\n"
        "named = ['--algorithm', 'csvrg', '--set', 'gamma=1']\n"
        "for wrong in (['--set', 'gama=1'], ['--algorithm', 'csvgr'], named):\n"
        "    assert main(['train', '--data', 'none.zarr', '--out', 'm', *wrong]) == 2\n"
        "print(sorted({'sklearn', 'scipy', 'numba', 'distributed'} & set(sys.modules)))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60
    )
    assert run.stdout.strip() == "[]"
    assert [line.rpartition("; ")[2] for line in run.stderr.splitlines()] == [
        "did you mean 'gamma'?",
        "did you mean 'csvrg'?",
        "check the path or run `distkern shard`",
    ]
