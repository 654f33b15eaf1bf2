"""The tests test the installed package, its versions agree, and the workflows test what is promised."""

import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
import yaml

import distkern
from distkern.core.version import __version__


@pytest.fixture(scope="module")
def project(repository):
    return tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_workflows_test_the_versions_of_python_that_are_promised(repository, project):
    jobs = yaml.safe_load((repository / ".github/workflows/tests.yml").read_text(encoding="utf-8"))["jobs"]
    tested = jobs["pytest"]["strategy"]["matrix"]["python"]
    named = [one.rpartition(" ")[2] for one in project["classifiers"] if re.search(r"Python :: 3\.\d+$", one)]
    assert tested == named
    assert project["requires-python"] == f">={tested[0]}"


def test_every_file_for_the_forge_can_be_read(repository):
    files = sorted((repository / ".github").rglob("*.yml"))
    assert len(files) == 6
    for file in files:
        assert isinstance(yaml.safe_load(file.read_text(encoding="utf-8")), dict)
    for page in sorted((repository / ".github").glob("*.md")):
        for link in re.findall(r"\]\(([^)#:]+)[)#]", page.read_text(encoding="utf-8")):
            assert (page.parent / link).exists(), (page, link)


def test_versions_agree(repository):
    changes = (repository / "CHANGELOG.md").read_text(encoding="utf-8")
    version, date = re.search(r"^## (\S+) \((\d{4}-\d\d-\d\d)\)$", changes, re.M).groups()
    assert version == __version__
    readme = (repository / "README.md").read_text(encoding="utf-8")
    assert f"version = {{{version}}}, year = {{{date[:4]}}}" in " ".join(readme.split())


def test_a_change_is_one_line(repository):
    _, _, entries = (repository / "CHANGELOG.md").read_text(encoding="utf-8").partition("\n## ")
    kinds = {"Added", "Changed", "Fixed", "Removed"}
    for line in entries.splitlines()[1:]:
        assert not line or (line.startswith("### ") and line[4:] in kinds) or re.match(r"- \S.*\.$", line), (
            line
        )
        assert len(line) <= 120


@pytest.mark.slow
def test_the_package_builds_and_its_page_on_pypi_can_be_shown(repository, tmp_path):
    for module in ("build", "hatchling", "twine"):
        pytest.importorskip(module)
    made = tmp_path / "dist"
    build = ["build", "--no-isolation", "--outdir", str(made), str(repository)]
    for command in (build, ["twine", "check", "--strict", f"{made}/*"]):
        run = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, timeout=200)
        assert run.returncode == 0, run.stdout + run.stderr
    assert sorted(file.name.partition("-")[0] for file in made.iterdir()) == ["distkern"] * 2


def test_the_package_is_the_installed_one(repository):
    if str(repository) in sys.path:
        pytest.skip("run from the checkout on purpose (python -m pytest, or an editable installation)")
    installed = metadata.distribution("distkern").locate_file("distkern/__init__.py")
    assert Path(distkern.__file__) == Path(str(installed))


def test_programs_use_the_same_package(repository):
    code = "import distkern; print(distkern.__file__)"
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=repository, capture_output=True, text=True, check=True, timeout=60
    )
    assert run.stdout.strip() == distkern.__file__
