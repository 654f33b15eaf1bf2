"""Writes ``distkern/__init__.pyi``: the public names and the estimators' constructors for type checkers.

``python tests/stub.py`` writes it anew, which a changed hyperparameter, a loss or kernel that is
new, an estimator or a public name asks for.
"""

from __future__ import annotations

import inspect
import textwrap
from pathlib import Path
from typing import Any

import distkern
from distkern.runs.algorithms import estimators

PATH = Path(distkern.__file__).with_suffix(".pyi")

_HEAD = '''"""The public names of distkern, as type checkers and editors see them.

Written by ``python tests/stub.py``: change the hyperparameters, not this file.
"""

from collections.abc import Sequence
from typing import Any, Literal

from numpy.random import RandomState
'''


def text() -> str:
    """The whole file."""
    public = dict(distkern._HOMES)
    private = {name: kind.__module__ for name, kind in estimators().items()}
    imports = [f"from {home} import {name} as {name}" for name, home in public.items()]
    imports += [f"from {home} import {name} as _{name}" for name, home in private.items()]
    names = "".join(f'    "{name}",\n' for name in distkern.__all__)
    parts = [
        _HEAD,
        "\n".join(sorted(imports)),
        f"\n__version__: str\n\n__all__ = [\n{names}]",
        *(_stub_of(kind) for kind in estimators().values()),
    ]
    return "\n".join(parts)


def _stub_of(kind: type[Any]) -> str:
    summary = textwrap.indent(inspect.getdoc(kind).partition("\n\n")[0], "    ").lstrip()
    parameters = "".join(
        f"        {name}: {parameter.annotation} = {parameter.default!r},\n"
        for name, parameter in kind.hyperparameters.items()
    )
    return f'''
class {kind.__name__}(_{kind.__name__}):
    """{summary}"""

    def __init__(
        self,
        *,
{parameters}    ) -> None: ...
'''


if __name__ == "__main__":
    PATH.write_text(text(), encoding="utf-8")
