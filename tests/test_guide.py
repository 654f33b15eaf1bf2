"""What the guide says works as it is written, and leads somewhere; of README its commands and links."""

import re
import shlex
import shutil
import tomllib
from pathlib import Path

import pytest

import distkern
from cluster_processes import wait_for
from distkern.cli.job import Job, make_estimator
from distkern.cli.main import main
from distkern.jobs.folder import JobFolder
from distkern.runs.algorithms import load_model
from distkern.solvers.base import SOLVERS
from pages import GUIDE, Reader, blocks, commands, pages, parsed, write_examples

#: pages whose blocks take some seconds, those whose blocks take longer, and the one that needs a cluster
SHORT = ("algorithms", "memory", "report", "troubleshooting")
LONG = ("choosing", "python", "quick-start", "tables")
JOBS = "clusters"
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([\w-]+))?\)")


@pytest.fixture(scope="module")
def examples(tmp_path_factory):
    """The files of the pages, and the data set and the model that most of them begin with."""
    folder = tmp_path_factory.mktemp("examples")
    write_examples(folder)
    data, model = str(folder / "covtype.zarr"), str(folder / "covtype-model")
    source = ["shard", str(folder / "covtype.csv.gz"), "--test-fraction", "0.2", "--out", data]
    assert main([*source, "--target", "cover_type"]) == 0
    settings = ["--set", "gamma=1.0", "--set", "nu=1e-4", "--set", "loss=logistic"]
    assert main(["train", "--data", data, "--algorithm", "newton", *settings, "--out", model]) == 0
    return folder


@pytest.fixture
def desk(examples, tmp_path, monkeypatch):
    """A copy of the examples, in which the test works."""
    shutil.copytree(examples, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_short_pages_run_as_they_are_written(repository, desk):
    for name in SHORT:
        Reader(repository / GUIDE / f"{name}.md").read("toml", "python", "sh")


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_a_long_page_runs_as_it_is_written(repository, desk, name):
    Reader(repository / GUIDE / f"{name}.md").read("toml", "python", "sh")


@pytest.mark.slow
def test_the_page_of_jobs_runs_as_it_is_written(repository, desk, cluster_for_jobs, capsys):
    reader = Reader(repository / GUIDE / f"{JOBS}.md")
    reader.read("toml", "python")
    job = Path("covtype.toml")
    # the cluster's processes have another current folder
    job.write_text(re.sub(r'"(covtype[\w.-]+)"', rf'"{desk}/\1"', job.read_text()))
    name = ""
    for arguments in commands(*blocks(reader.page, "sh")):
        command, *rest = arguments
        given = [{"tcp://10.0.0.5:8786": cluster_for_jobs.address, "ID": name}.get(one, one) for one in rest]
        capsys.readouterr()
        assert main([command, *given]) == 0, arguments
        if command == "submit":
            name = capsys.readouterr().out.split()[-1]
            wait_for(lambda: JobFolder(desk / "covtype-csvrg").state() == "finished")
    assert load_model(desk / "fetched-model").get_params()["gamma"] == 4.0


def test_every_page_of_the_guide_is_linked_and_run(repository):
    site = (repository / GUIDE / "mkdocs.yml").read_text(encoding="utf-8")
    names = {page.stem for page in pages(repository)[1:]}
    assert {*SHORT, *LONG, JOBS} == names
    assert {name for name in names if f": {GUIDE}/{name}.md\n" in site} == names
    # what the site lists is there; it makes the reference itself
    listed = re.findall(r"^ +- [\w -]+: (\S+\.\w+)$", site, flags=re.M)
    assert [path for path in listed if not (repository / path).exists()] == ["api.md", "commands.md"]


def test_links_of_readme_are_absolute_as_pypi_needs_them_and_lead_to_files(repository):
    readme = (repository / "README.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)\s]+)\)", readme)
    assert [link for link in links if not link.startswith("https://")] == []
    ours = [
        re.fullmatch(r"https://github.com/distkern/distkern/(?:blob|raw|tree)/main/([^#]+)(#.*)?", link)
        for link in links
    ]
    paths = [match[1] for match in ours if match]
    assert len(paths) >= 15
    assert [path for path in paths if not (repository / path).exists()] == []
    assert {".github/page.png", ".github/report.png"} <= {*paths}


def test_every_command_is_one_that_the_command_line_accepts(repository):
    lines = [line for page in pages(repository) for block in blocks(page, "sh") for line in commands(block)]
    assert len(lines) >= 30
    for page in pages(repository):
        # those within sentences, but for names that stand for any command
        inline = re.findall(r"`distkern ([a-z]+ [^`]*)`", page.read_text(encoding="utf-8"))
        lines += [shlex.split(line.removesuffix(" --help")) for line in inline]
    for line in lines:
        parsed(line)


def test_blocks_are_of_languages_that_are_run(repository):
    for page in pages(repository):
        found = [block.language for block in blocks(page)]
        assert set(found) <= {"sh", "python", "toml"}, page
        assert page.read_text(encoding="utf-8").count("```") == 2 * len(found), page


def test_commands_that_start_clusters_are_those_that_are_tried(repository):
    tried = (repository / "cluster" / "README.md").read_text(encoding="utf-8")
    for page in pages(repository):
        for line in re.findall(r"^    (python .*)$", page.read_text(encoding="utf-8"), flags=re.M):
            assert line in " ".join(tried.replace("\\\n", " ").split()), (page, line)


def test_job_files_are_ones_that_train_accepts(repository):
    jobs = [tomllib.loads(block.text) for page in pages(repository) for block in blocks(page, "toml")]
    assert len(jobs) >= 3
    for written in jobs:
        job = Job(**written)
        assert make_estimator(job).gamma == written.get("params", {}).get("gamma", "auto")
        assert (job.search is None) == ("search" not in written)


def test_links_lead_somewhere(repository):
    for page in pages(repository):
        for path, anchor in LINK.findall(page.read_text(encoding="utf-8")):
            target = page.parent / path if path else page
            assert target.exists(), (page, path)
            if anchor:
                heads = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), flags=re.M)
                known = [re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads]
                assert anchor in known, (page, anchor)


def test_every_algorithm_has_a_section_and_a_row(repository):
    solvers = {name.removesuffix("_regressor") for name in SOLVERS}
    page = (repository / GUIDE / "algorithms.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", page, flags=re.M | re.S))
    assert set(sections) == {"auto", *solvers}
    for name in solvers:
        assert re.search(rf"\(../../distkern/solvers/(compare/)?{name}\.py\)", sections[name])
        assert re.search(r"^    \S|[Tt]he objective of `\w+`", sections[name], flags=re.M), name
        assert re.search(r"^- When: ", sections[name], flags=re.M), name
        assert re.search(r"Papers?: .*\b\d{4}", sections[name]), name
    estimators = [
        name for name in distkern.__all__ if re.search(r"(Classifier|Regressor|Ratio|Detector)$", name)
    ]
    assert [name for name in estimators if f"`{name}`" not in page] == []
    models = (repository / "README.md").read_text(encoding="utf-8").partition("## Models")[2]
    first = " ".join(re.findall(r"^\| (`.*?) \|", models, flags=re.M))
    assert set(re.findall(r"`([a-z_]+)`", first)) == {"auto", *solvers}
    named = set(re.findall(r"`([A-Z]\w+)`", first))
    named |= {
        f"{name}{kind}" for name in re.findall(r"`(\w+)\*`", first) for kind in ("Classifier", "Regressor")
    }
    assert set(estimators) == named


def test_messages_that_are_explained_are_ones_that_are_said(repository):
    page = (repository / GUIDE / "troubleshooting.md").read_text(encoding="utf-8")
    explained = re.findall(r"^\| `([^`]+)` \|", page, flags=re.M)
    said = "".join(path.read_text(encoding="utf-8") for path in (repository / "distkern").rglob("*.py"))
    assert len(explained) >= 10
    for words in explained:
        assert words in said, words


def test_no_sentence_begins_with_what_it_is_of(repository):
    for page in pages(repository):
        for paragraph in page.read_text(encoding="utf-8").split("\n\n"):
            found = re.search(r"(^|[.:*] )Of \w.{20}", " ".join(paragraph.split()))
            assert not found, (page, found)
