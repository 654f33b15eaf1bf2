"""Kernels as ONNX graphs: k(x, c) of rows and landmarks, and blocks of random features.

Each kernel has one function here, found by its class, and so has each kind of feature block. Others are
refused by name.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from distkern.core.errors import InputError
from distkern.core.types import Array
from distkern.maths.kernels import euclidean, features, histograms, inner_product, product
from distkern.maths.kernels.base import AbstractKernel
from distkern.maths.kernels.features import AbstractFeatureBlock
from distkern.maths.samplers.frequencies import AbstractFrequencies
from distkern.model.export.graph import Value

#: (kernel, rows (n, d), landmarks (r, d)) -> values (n, r)
KernelFormula = Callable[[Any, Value, Array], Value]
#: (block, rows (n, d), d, scale) -> features (n, n_columns)
BlockFormula = Callable[[Any, Value, int, float], Value]

_KERNELS: dict[type[Any], KernelFormula] = {}
_BLOCKS: dict[type[Any], BlockFormula] = {}
#: smallest positive number in double precision; its logarithm replaces that of 0
_TINY = float(np.finfo(np.float64).tiny)


def of_kernel(*kinds: type[Any]) -> Callable[[KernelFormula], KernelFormula]:
    """Register the decorated formula for kernels."""
    return lambda formula: _KERNELS.update(dict.fromkeys(kinds, formula)) or formula


def of_block(*kinds: type[Any]) -> Callable[[BlockFormula], BlockFormula]:
    """Register the decorated formula for feature blocks."""
    return lambda formula: _BLOCKS.update(dict.fromkeys(kinds, formula)) or formula


def kernel_values(kernel: AbstractKernel, rows: Value, landmarks: Array) -> Value:
    """Return k between rows (n, d) and landmarks (r, d): (n, r).

    Raises
    ------
    InputError
        If the kernel has no formula here.
    """
    if type(kernel) not in _KERNELS:
        raise refusal(f"kernel {kernel.name} at landmarks has no formula in ONNX")
    return _KERNELS[type(kernel)](kernel, rows, landmarks)


def block_values(
    kernel: AbstractKernel, block: AbstractFeatureBlock, rows: Value, n_input: int, scale: float
) -> Value:
    """Return scale * z(x) of rows (n, n_input), as the block's ``fill``; raises as :func:`kernel_values`."""
    if type(block) not in _BLOCKS:
        raise refusal(f"random features of kernel {kernel.name} have no formula in ONNX")
    return _BLOCKS[type(block)](block, rows, n_input, scale)


def refusal(reason: str) -> InputError:
    """Return the error for a model that cannot be exported."""
    return InputError(reason, where="export", hint="serve it with distkern: load_model(path).predict(X)")


# -- kernels at landmarks


def _squared_distances(rows: Value, landmarks: Array) -> Value:
    center = landmarks.mean(axis=0)
    moved, others = rows - center, landmarks - center
    squares = (moved * moved).reduced("Sum", 1, keep=True)
    found: Value = squares + np.square(others).sum(axis=1) - (moved @ others.T) * 2.0
    # rounding can leave a row slightly closer than distance 0
    return found.at_least(0.0)


def _over_columns(how: str, rows: Value, landmarks: Array, term: Callable[[Value, Array], Value]) -> Value:
    return term(rows.with_axis(1), landmarks[None]).reduced(how, 2)


@of_kernel(euclidean.Gaussian)
def _gaussian(kernel: euclidean.Gaussian, rows: Value, landmarks: Array) -> Value:
    return (_squared_distances(rows, landmarks) * -kernel.gamma).exp()


@of_kernel(euclidean.Matern)
def _matern(kernel: euclidean.Matern, rows: Value, landmarks: Array) -> Value:
    factor = math.sqrt(2.0 * kernel.smoothness) * kernel.gamma
    # far away the exponential vanishes, and the polynomial must not overflow
    scaled = (_squared_distances(rows, landmarks).sqrt() * factor).at_most(700.0)
    return _polynomial(kernel._coefficients(), scaled) * (-scaled).exp()


def _polynomial(coefficients: list[float] | tuple[float, ...], x: Value) -> Value:
    """Evaluate a polynomial by Horner's rule, the highest power first."""
    total = x * 0.0 + coefficients[0]
    for coefficient in coefficients[1:]:
        total = total * x + coefficient
    return total


@of_kernel(product.Laplacian)
def _laplacian(kernel: product.Laplacian, rows: Value, landmarks: Array) -> Value:
    distances = _over_columns("Sum", rows, landmarks, lambda x, y: (x - y).apply("Abs"))
    return (distances * -kernel.gamma).exp()


@of_kernel(product.Cauchy)
def _cauchy(kernel: product.Cauchy, rows: Value, landmarks: Array) -> Value:
    return 1.0 / _over_columns("Prod", rows, landmarks, lambda x, y: (x - y) ** 2 * kernel.gamma + 1.0)


@of_kernel(inner_product.Polynomial)
def _power(kernel: inner_product.Polynomial, rows: Value, landmarks: Array) -> Value:
    return ((rows @ landmarks.T) * kernel.gamma + kernel.offset) ** int(kernel.degree)


@of_kernel(inner_product.DotProduct)
def _series(kernel: inner_product.DotProduct, rows: Value, landmarks: Array) -> Value:
    products = (rows @ landmarks.T) * kernel.gamma
    if not kernel.coefficients:
        return products.exp()
    return _polynomial(tuple(reversed(kernel.coefficients)), products)


@of_kernel(inner_product.ArcCosine)
def _arc_cosine(kernel: inner_product.ArcCosine, rows: Value, landmarks: Array) -> Value:
    own: Value = (rows * rows).reduced("Sum", 1, keep=True).sqrt()
    lengths: Value = own * np.linalg.norm(landmarks, axis=1)
    present = lengths.apply("Greater", 0.0)
    nearly: Value = (rows @ landmarks.T) / lengths.where(present, 1.0)
    cosine = nearly.at_least(-1.0).at_most(1.0)
    angle = _arccos(cosine)
    sine, rest = angle.apply("Sin"), math.pi - angle
    angular = rest
    if kernel.degree == 1:
        angular = sine + rest * cosine
    elif kernel.degree == 2:
        angular = sine * cosine * 3.0 + rest * (cosine * cosine * 2.0 + 1.0)
    powers: Value = lengths ** int(kernel.degree)
    return (powers * angular * (1.0 / math.pi)).where(present, 0.0)


def _arccos(cosine: Value) -> Value:
    """Compute the arc cosine in double precision: that of runtimes is single, and a Newton step refines
    it.
    """
    angle = cosine.cast("FLOAT").apply("Acos").cast("DOUBLE")
    sine = angle.apply("Sin")
    # near 0 and pi the step would divide by 0, and a series is accurate enough
    is_steep = sine.apply("Greater", 1e-3)
    step = (angle.apply("Cos") - cosine) / sine.where(is_steep, 1.0)
    near = (((1.0 - cosine.apply("Abs")) * 2.0).at_least(0.0)).sqrt()
    series = near + near**3 * (1.0 / 24.0)
    turned = series.where(cosine.apply("Greater", 0.0), math.pi - series)
    return (angle + step).where(is_steep, turned)


@of_kernel(histograms.Hellinger)
def _hellinger(kernel: histograms.Hellinger, rows: Value, landmarks: Array) -> Value:
    return rows.sqrt() @ np.sqrt(landmarks).T


@of_kernel(histograms.ChiSquare)
def _chi2(kernel: histograms.ChiSquare, rows: Value, landmarks: Array) -> Value:
    return _over_columns("Sum", rows, landmarks, lambda x, y: x * (2.0 * y) / (x + y).at_least(_TINY))


@of_kernel(histograms.Intersection)
def _intersection(kernel: histograms.Intersection, rows: Value, landmarks: Array) -> Value:
    return _over_columns("Sum", rows, landmarks, lambda x, y: x.at_most(y))


@of_kernel(histograms.JensenShannon)
def _jensen_shannon(kernel: histograms.JensenShannon, rows: Value, landmarks: Array) -> Value:
    def term(x: Value, y: Array) -> Value:
        both, safe = x.at_least(_TINY), np.maximum(y, _TINY)
        total = (x + y).at_least(_TINY)
        entropy = x * (total / both).log() + (total / safe).log() * y
        # a term is 0 if either number is 0
        return entropy.where((x * y).apply("Greater", 0.0), 0.0)

    return _over_columns("Sum", rows, landmarks, term) * (0.5 / math.log(2.0))


@of_kernel(histograms.SkewedChiSquare)
def _skewed_chi2(kernel: histograms.SkewedChiSquare, rows: Value, landmarks: Array) -> Value:
    moved, others = rows + kernel.offset, landmarks + kernel.offset
    return _over_columns("Prod", moved, others, lambda x, y: x.sqrt() * (2.0 * np.sqrt(y)) / (x + y))


@of_kernel(histograms.SkewedIntersection)
def _skewed_intersection(kernel: histograms.SkewedIntersection, rows: Value, landmarks: Array) -> Value:
    moved, others = rows + kernel.offset, landmarks + kernel.offset
    return _over_columns("Prod", moved, others, lambda x, y: (x / y).at_most(1.0 / (x / y)).sqrt())


@of_kernel(histograms.ExponentialSemigroup)
def _exponential_semigroup(kernel: Any, rows: Value, landmarks: Array) -> Value:
    return (_over_columns("Sum", rows, landmarks, lambda x, y: (x + y).sqrt()) * -float(kernel.rate)).exp()


@of_kernel(histograms.ReciprocalSemigroup)
def _reciprocal_semigroup(kernel: Any, rows: Value, landmarks: Array) -> Value:
    offset = kernel.offset
    return _over_columns("Prod", rows, landmarks, lambda x, y: offset / (x + (y + offset)))


# -- random features


def _matrix_of(frequencies: AbstractFrequencies, n_input: int) -> Array:
    """Return frequencies as a matrix (n_input, F): their inner products with unit vectors."""
    matrix = np.empty((n_input, frequencies.n_draws))
    frequencies.astype(np.float64).project(np.eye(n_input), matrix)
    return matrix


def _projected(block: Any, rows: Value, n_input: int) -> Value:
    return rows @ _matrix_of(block.frequencies, n_input)


def _pairs(block: Any, arguments: Value, scale: float) -> Value:
    both = arguments.graph.concatenated([arguments.apply("Cos"), arguments.apply("Sin")])
    return both * float(scale / block.n_whole**0.5)


@of_block(features.PairBlock)
def _pair_block(block: features.PairBlock, rows: Value, n_input: int, scale: float) -> Value:
    return _pairs(block, _projected(block, rows, n_input), scale)


@of_block(histograms.LogarithmBlock)
def _logarithm_block(block: histograms.LogarithmBlock, rows: Value, n_input: int, scale: float) -> Value:
    logarithms = (rows * (1.0 / block.offset) + 1.0).log()
    return _pairs(block, _projected(block, logarithms, n_input), scale)


@of_block(histograms.RootBlock)
def _root_block(block: histograms.RootBlock, rows: Value, n_input: int, scale: float) -> Value:
    return _projected(block, rows.sqrt(), n_input) * float(scale / block.n_whole**0.5)


@of_block(histograms.ExponentialBlock)
def _exponential_block(block: histograms.ExponentialBlock, rows: Value, n_input: int, scale: float) -> Value:
    return (-_projected(block, rows, n_input)).exp() * float(scale / block.n_whole**0.5)


@of_block(inner_product.RectifiedBlock)
def _rectified_block(block: inner_product.RectifiedBlock, rows: Value, n_input: int, scale: float) -> Value:
    found = _projected(block, rows, n_input)
    if block.degree == 0:
        found = found.apply("Greater", 0.0).cast("DOUBLE")
    else:
        found = found.at_least(0.0) ** block.degree
    return found * float(scale * (2.0 / block.n_whole) ** 0.5)


@of_block(histograms.AdditiveBlock)
def _additive_block(block: histograms.AdditiveBlock, rows: Value, n_input: int, scale: float) -> Value:
    some = rows.columns(block.columns)
    amplitudes = some.sqrt() * (scale * (block.n_input / block.n_whole) ** 0.5)
    arguments = some.at_least(_TINY).log() * block.omega.astype(np.float64)
    parts = [arguments.apply("Cos") * amplitudes, arguments.apply("Sin") * amplitudes]
    return rows.graph.concatenated(parts)


@of_block(inner_product.ProductBlock)
def _product_block(block: inner_product.ProductBlock, rows: Value, n_input: int, scale: float) -> Value:
    products = rows.columns([0]) * 0.0 + np.ones((1, block.n_columns))
    for layer in block.layers:
        # only the first draws have this factor
        matrix, ones = np.zeros((n_input, block.n_columns)), np.ones(block.n_columns)
        matrix[:, : layer.n_draws] = _matrix_of(layer, n_input)
        ones[: layer.n_draws] = 0.0
        products = products * (rows @ matrix + ones)
    sizes: Array = block.sizes.astype(np.float64) * (scale / block.n_whole**0.5)
    return products.columns(block.places) * sizes
