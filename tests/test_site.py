"""The site of the documentation, as one command builds it: all its links, its reference, its style."""

import html
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest

pytest.importorskip("mkdocs", reason="pip install '.[docs]'")
ROOT = Path(__file__).parents[1]
LINK = re.compile(r'(?:href|src)="(?!https?:|mailto:|data:|javascript:|/)([^"]*)"')


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", folder]
    subprocess.run([*command, "-f", "workflows/guide/mkdocs.yml"], cwd=ROOT, check=True)
    return folder


@pytest.mark.slow
def test_every_link_leads_to_a_file_and_a_place(site):
    broken = []
    for page in site.rglob("*.html"):
        # its links start at the root of the server
        for link in () if page.name == "404.html" else map(html.unescape, LINK.findall(page.read_text())):
            path, _, place = link.partition("#")
            to = (page.parent / unquote(path)).resolve() if path else page
            to = to / "index.html" if to.is_dir() else to
            is_there = to.exists() and (
                place in ("", "__") or re.search(f'(?:id|name)="{re.escape(unquote(place))}"', to.read_text())
            )
            if not is_there:
                broken.append((str(page.relative_to(site)), link))
    assert broken == []


@pytest.mark.slow
def test_the_reference_has_every_method_and_true_defaults(site):
    text = (site / "api" / "index.html").read_text()
    for name in ("fit", "predict", "predict_proba", "decision_function", "score", "explain", "save"):
        assert f'id="distkern.NewtonClassifier.{name}"' in text
    assert ":class:" not in text
    shown = html.unescape(re.sub("<[^>]*>", "", text))
    kernels = re.findall(r"kernel\s*\(\s*\('cauchy', .*?default:\s*\"(\w+)\"", shown, flags=re.DOTALL)
    assert set(kernels) == {"rbf"}
    commands = (site / "commands" / "index.html").read_text()
    assert "distkern shard customers.csv --target churned --check\n" in html.unescape(commands)
    assert commands.count("-h, --help") > commands.count('id="distkern-')
    # folders of tools in a used checkout are no pages
    assert not [entry for entry in site.iterdir() if entry.name.endswith("_cache")]
