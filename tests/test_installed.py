"""The tests test the package that pip installed, not the folder they happen to be started in."""

import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import distkern


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
