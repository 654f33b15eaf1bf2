"""How far a reader of this package walks: what a call of the public API enters, and how deep::

    NUMBA_DISABLE_JIT=1 python -m tests.walks

Each walk is made once before it is watched, so that imports and caches of a process do not count.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import distkern

PACKAGE = Path(distkern.__file__).parent
_ROOT = f"{PACKAGE}/"


def heights():
    """Floor of each room, by the figure in ARCHITECTURE.md."""
    text = (PACKAGE / "ARCHITECTURE.md").read_text(encoding="utf-8")
    figure = text.partition("exact arrows.\n\n")[2].partition("\n\n")[0].splitlines()
    rooms = [re.split(r"\s{2,}", line.strip())[:-1] for line in figure]
    return {name: len(rooms) - number for number, names in enumerate(rooms) for name in names}


class Walk:
    """What the calls between entering and leaving it enter.

    Attributes
    ----------
    files : of ours, with their calls
    functions : of ours
    depth : frames of ours on the deepest stack
    cleaned : calls of Parameter.clean
    climbs : pairs of a function and one in a higher room that it calls itself, with their number
    """

    def __init__(self):
        self.files, self.functions, self.climbs = Counter(), Counter(), Counter()
        self.depth, self.cleaned, self.deepest = 0, 0, []
        self._floors, self._known, self._open = heights(), {}, 0

    def _place(self, code):
        """File in the package, or None."""
        name = code.co_filename
        if name not in self._known:
            self._known[name] = name.removeprefix(_ROOT) if name.startswith(_ROOT) else None
        return self._known[name]

    def _floor(self, place):
        module = place.removesuffix(".py").replace("/", ".")
        homes = [room for room in self._floors if module == room or module.startswith(f"{room}.")]
        return self._floors[max(homes, key=len)] if homes else None

    def _seen(self, frame, event, _):
        if event not in ("call", "return"):
            return
        code = frame.f_code
        place = self._place(code)
        if place is None:
            return
        if event == "return":
            # of frames that were there before the walk, too
            self._open = max(0, self._open - 1)
            return
        self._open += 1
        if code.co_name in ("<module>", "<genexpr>", "<listcomp>", "<lambda>", "<dictcomp>"):
            return
        self.files[place] += 1
        self.functions[f"{place}:{code.co_qualname}"] += 1
        if code.co_qualname == "Parameter.clean":
            self.cleaned += 1
        if self._open > self.depth:
            self.depth, self.deepest = self._open, self._stack(frame)
        if frame.f_back is not None and (caller := self._place(frame.f_back.f_code)) is not None:
            low, high = self._floor(caller), self._floor(place)
            if low is not None and high is not None and low < high:
                name = frame.f_back.f_code.co_qualname
                self.climbs[f"{caller}:{name} -> {place}:{code.co_qualname}"] += 1

    def _stack(self, frame):
        """Frames of ours up to this one."""
        found = []
        while frame is not None:
            if (place := self._place(frame.f_code)) is not None:
                found.append(f"{place}:{frame.f_code.co_qualname}")
            frame = frame.f_back
        return found[::-1]

    def __enter__(self):
        sys.setprofile(self._seen)
        return self

    def __exit__(self, *_):
        sys.setprofile(None)


#: rooms of estimators, and of what lies above
HIGH = ("estimators", "choose.tuning", "show.live", "jobs", "cli")


def asked(walk):
    """The climbs to methods of estimators and commands, but for listeners and for decorators of methods."""
    pairs = [pair.split(" -> ") for pair in walk.climbs]
    found = [
        f"{caller} -> {callee}"
        for caller, callee in pairs
        if callee.replace("/", ".").startswith(tuple(f"{room}." for room in HIGH))
        and "." in callee.partition(":")[2]
        and not caller.startswith(("engine/events.py", "core/python_words.py:in_python"))
    ]
    return sorted(found)


def rows():
    """A small binary problem."""
    from sklearn.datasets import make_moons

    return make_moons(200, noise=0.1, random_state=0)


def walked(call):
    """A call, made twice, the second time watched."""
    call()
    walk = Walk()
    with walk:
        call()
    return walk


def walks(folder):
    """Every walk by name."""
    from distkern.cli.main import main as command
    from distkern.runs.run import evaluate

    X, y = rows()
    data = folder / "d.zarr"
    dataset = distkern.write_dataset(X, y, data, test_fraction=0.25)

    def fitted():
        return distkern.CSVRGClassifier(gamma=4.0, lam=64.0, n_landmarks=32, random_state=0).fit(X, y)

    def trained():
        out = folder / f"m{len(list(folder.glob('m*')))}"
        given = [
            "train",
            "--data",
            str(data),
            "--algorithm",
            "csvrg",
            "--set",
            "n_landmarks=32",
            "--set",
            "lam=1.0",
        ]
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            assert command([*given, "--out", str(out), "--scheduler", "synchronous"]) == 0

    found = {"fit": walked(fitted)}
    model = fitted()
    for name in ("predict, first", "predict, second"):
        found[name] = Walk()
        with found[name]:
            model.predict(X)
    found["evaluate"] = walked(lambda: evaluate(model.model_, dataset.test))
    found["train"] = walked(trained)
    return found


#: algorithms whose models are served
SERVED = ("CSVRGClassifier", "NewtonClassifier")


def modules_of_service(folder):
    """Modules that a new process has imported once it has loaded a model of each and predicted a row."""
    X, y = rows()
    for name in SERVED:
        getattr(distkern, name)(n_landmarks=32, random_state=0).fit(X, y).save(folder / name)
    code = (
        "import sys, json, distkern\n"
        f"for name in {SERVED}:\n"
        f"    distkern.load_model({str(folder)!r} + '/' + name).predict([[0.0, 1.0]])\n"
        "print(json.dumps(sorted(sys.modules)))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    return json.loads(run.stdout)


def of_ours(modules):
    return [name for name in modules if name.partition(".")[0] == "distkern"]


def main():
    assert os.environ.get("NUMBA_DISABLE_JIT") == "1", "compiled loops have no frames"
    with TemporaryDirectory() as folder:
        found = walks(Path(folder))
        service = modules_of_service(Path(folder))
        if sys.argv[1:] == ["--json"]:
            facts = {
                name: {
                    "cleaned": one.cleaned,
                    "depth": one.depth,
                    "files": len(one.files),
                    "asked": asked(one),
                }
                for name, one in found.items()
            }
            print(json.dumps({"walks": facts, "service": service}))
            return
    print(f"{'walk':16} {'files':>6} {'functions':>10} {'stack':>6} {'clean':>6} {'climbs':>7}")
    for name, one in found.items():
        climbs = f"{len(one.climbs)}/{sum(one.climbs.values())}"
        print(
            f"{name:16} {len(one.files):6} {len(one.functions):10} {one.depth:6} {one.cleaned:6} {climbs:>7}"
        )
    print(f"load_model and a row: {len(of_ours(service))} modules")
    for name in sys.argv[1:]:
        if name == "service":
            print(*of_ours(service), sep="\n")
            continue
        one = found[name]
        print(f"\n{name}\n", *sorted(one.files), "", *one.deepest, "", sep="\n")
        print(*(f"{count:4} {pair}" for pair, count in sorted(one.climbs.items())), sep="\n")


if __name__ == "__main__":
    main()
