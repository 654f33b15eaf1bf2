"""What holds of every parameter that a loss, a kernel, a landmark rule, a solver or an estimator declares."""

import dataclasses
import math

import numpy as np
import pytest

from distkern.core.errors import InputError
from distkern.core.parameters import POSITIVE, Number, Numbers, Whole, declared, parameter
from distkern.maths.kernels import KERNELS
from distkern.maths.losses import LOSSES
from distkern.solvers import hyperparameters
from distkern.solvers.base import SOLVERS

PARTS = {kind for family in (LOSSES, KERNELS, SOLVERS) for kind in family.values()}
PARAMETERS = [
    pytest.param(kind, name, id=f"{kind.__name__}-{name}")
    for kind in sorted(PARTS, key=lambda kind: kind.__name__)
    for name in declared(kind)
]
#: of many parameters
RIGHT = [
    0.3,
    1,
    2,
    2.5,
    (0.5,),
    [0.1, 0.5],
    (),
    np.float32(0.25),
    np.int64(3),
    np.array([1.0, 2.0]),
    True,
    None,
]
#: of no parameter
WRONG = [object(), "no such word", float("nan"), float("inf"), -math.inf, [], {}]


def outside(kind):
    """Numbers just beyond the ends of a range."""
    ends = [(kind.least, kind.open[0], -1.0), (kind.most, kind.open[1], 1.0)]
    return [
        end if is_open else (end + step if isinstance(kind, Whole) else np.nextafter(end, step * math.inf))
        for end, is_open, step in ends
        if math.isfinite(end)
    ]


@pytest.mark.parametrize(("kind", "name"), PARAMETERS)
def test_refuses_by_name_what_it_cannot_be(kind, name):
    parameter = declared(kind)[name]
    wrong = [value for value in WRONG if not any(one.accepts(value) for one in parameter.kinds)]
    for one in parameter.kinds:
        if isinstance(one, Number | Numbers):
            numbers = outside(one if isinstance(one, Number) else one.kind)
            wrong += [
                value for value in numbers if not any(other.accepts(value) for other in parameter.kinds)
            ]
    assert len(wrong) >= 4
    for value in wrong:
        with pytest.raises(InputError, match=rf"^{name}(:| must be .*, got )"):
            parameter.clean(name, value)


@pytest.mark.parametrize(("kind", "name"), PARAMETERS)
def test_what_is_accepted_can_be_cleaned_and_is_clean_then(kind, name):
    parameter = declared(kind)[name]
    accepted = [value for value in RIGHT if any(one.accepts(value) for one in parameter.kinds)]
    for value in [*accepted, *parameter.words]:
        clean = parameter.clean(name, value)
        assert parameter.clean(name, clean) == clean
        assert not isinstance(clean, np.generic | np.ndarray | list)
        hash(clean)


@pytest.mark.parametrize(("kind", "name"), PARAMETERS)
def test_is_declared_whole(kind, name):
    parameter = declared(kind)[name]
    assert parameter.help
    assert not parameter.help.endswith(".")
    assert parameter.description
    assert parameter.clean(name, parameter.default) == parameter.default
    assert type(parameter.clean(name, parameter.default)) is type(parameter.default)
    (field,) = [one for one in dataclasses.fields(kind) if one.name == name]
    assert field.default == parameter.default


@pytest.mark.parametrize("kind", sorted(LOSSES.values(), key=lambda kind: kind.__name__))
def test_a_loss_refuses_them_when_it_is_made(kind):
    for name in declared(kind):
        with pytest.raises(InputError, match=f"^{name} must be .*, got nan"):
            kind(**{name: float("nan")})


def test_numbers_of_numpy_are_kept_as_plain_ones():
    assert type(Number(0, 1).clean(np.float32(0.5))) is float
    assert type(Whole(1).clean(np.int64(3))) is int
    assert not Whole(1).accepts(True)
    assert not Whole(1).accepts(2.0)
    assert not Number().accepts(np.bool_(True))


@pytest.mark.parametrize(("solver", "name"), [("svrg", "batch_size"), ("newton", "delta")])
def test_a_kernel_has_no_parameter_called_as_one_of_the_solver_or_of_a_loss(solver, name, monkeypatch):
    field = (name, float, parameter(1.0, POSITIVE, help="another"))
    other = dataclasses.make_dataclass("Other", [field], bases=(KERNELS["rbf"],), frozen=True)
    monkeypatch.setitem(hyperparameters._FAMILIES, "kernel", {**KERNELS, "rbf": other})
    own = {"loss": hyperparameters.a_loss("huber", LOSSES)}
    with pytest.raises(RuntimeError, match=f"kernel 'rbf' has a parameter '{name}'.*give it another name"):
        hyperparameters.hyperparameters_of(SOLVERS[solver], **own)
