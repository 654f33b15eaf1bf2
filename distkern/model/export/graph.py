"""Formulas as ONNX graphs: values with operators, computed in double precision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import InputError

#: newest operator set that common runtimes support
OPSET, IR_VERSION = 18, 9

Operand: TypeAlias = "Value | float | NDArray[Any]"


def onnx_library() -> Any:
    """Return the package ``onnx``; :class:`InputError` if it is not installed."""
    try:
        import onnx
    except ImportError:
        raise InputError(
            "the package onnx is not installed", where="export", hint="pip install 'distkern[onnx]'"
        ) from None
    return onnx


class Value:
    """A tensor of a graph; other operands become constants in double precision."""

    #: NumPy arrays on the left defer operators to this class
    __array_ufunc__ = None

    def __init__(self, graph: Graph, name: str) -> None:
        self.graph, self.name = graph, name

    def __add__(self, other: Operand) -> Value:
        return self.graph.op("Add", self, other)

    def __sub__(self, other: Operand) -> Value:
        return self.graph.op("Sub", self, other)

    def __rsub__(self, other: float) -> Value:
        return self.graph.op("Sub", other, self)

    def __mul__(self, other: Operand) -> Value:
        return self.graph.op("Mul", self, other)

    def __truediv__(self, other: Operand) -> Value:
        return self.graph.op("Div", self, other)

    def __rtruediv__(self, other: float) -> Value:
        return self.graph.op("Div", other, self)

    def __matmul__(self, other: Operand) -> Value:
        return self.graph.op("MatMul", self, other)

    def __neg__(self) -> Value:
        return self.graph.op("Neg", self)

    def __pow__(self, power: int) -> Value:
        return self.graph.op("Pow", self, float(power))

    __radd__ = __add__
    __rmul__ = __mul__

    def apply(self, operator: str, *others: Operand, **attributes: Any) -> Value:
        return self.graph.op(operator, self, *others, **attributes)

    def exp(self) -> Value:
        return self.apply("Exp")

    def log(self) -> Value:
        return self.apply("Log")

    def sqrt(self) -> Value:
        return self.apply("Sqrt")

    def at_least(self, bound: Operand) -> Value:
        """Return the maximum of each element and a bound."""
        return self.apply("Max", bound)

    def at_most(self, bound: Operand) -> Value:
        """Return the minimum of each element and a bound."""
        return self.apply("Min", bound)

    def reduced(self, how: str, axis: int, *, keep: bool = False) -> Value:
        """Return the sum ("Sum"), product ("Prod") or maximum ("Max") along an axis."""
        return self.graph.op(f"Reduce{how}", self, self.graph.whole([axis]), keepdims=int(keep))

    def with_axis(self, axis: int) -> Value:
        return self.graph.op("Unsqueeze", self, self.graph.whole([axis]))

    def as_vector(self) -> Value:
        """Return the only column."""
        return self.graph.op("Squeeze", self, self.graph.whole([1]))

    def columns(self, numbers: Sequence[int] | NDArray[Any]) -> Value:
        return self.graph.op("Gather", self, self.graph.whole(numbers), axis=1)

    def cast(self, kind: str) -> Value:
        return self.graph.op("Cast", self, to=getattr(onnx_library().TensorProto, kind))

    def where(self, condition: Value, other: Operand) -> Value:
        """Return these elements where the condition holds, and others elsewhere."""
        return self.graph.op("Where", condition, self, other)


class Graph:
    """Nodes and constants of a graph, in order of creation, for a model with ``n_outputs`` outputs."""

    def __init__(self, n_outputs: int) -> None:
        self.n_outputs = n_outputs
        self._helper: Any = onnx_library().helper
        self._arrays: Any = onnx_library().numpy_helper
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def op(self, operator: str, *operands: Operand, **attributes: Any) -> Value:
        names = [self._named(one).name for one in operands]
        result = f"v{len(self.nodes)}"
        self.nodes.append(self._helper.make_node(operator, names, [result], **attributes))
        return Value(self, result)

    def constant(self, array: Any) -> Value:
        """Add an array, which may hold strings."""
        found = np.asarray(array)
        found = found.astype(object) if found.dtype.kind == "U" else found
        name = f"c{len(self.constants)}"
        self.constants.append(self._arrays.from_array(np.ascontiguousarray(found), name))
        return Value(self, name)

    def whole(self, numbers: Any) -> Value:
        return self.constant(np.asarray(numbers, dtype=np.int64))

    def concatenated(self, values: Sequence[Value]) -> Value:
        return values[0] if len(values) == 1 else self.op("Concat", *values, axis=1)

    def sorted_rows(self, values: Value, n_columns: int) -> Value:
        names = [values.name, self.whole([n_columns]).name]
        results = [f"v{len(self.nodes)}", f"v{len(self.nodes)}_places"]
        how = {"axis": 1, "largest": 0, "sorted": 1}
        self.nodes.append(self._helper.make_node("TopK", names, results, **how))
        return Value(self, results[0])

    def named(self, value: Value, name: str) -> None:
        """Name a value as an output."""
        self.nodes.append(self._helper.make_node("Identity", [value.name], [name]))

    def _named(self, operand: Operand) -> Value:
        if isinstance(operand, Value):
            return operand
        return self.constant(np.asarray(operand, dtype=np.float64))
