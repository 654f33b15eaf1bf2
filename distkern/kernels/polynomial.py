"""The polynomial kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.common.parameters import NOT_NEGATIVE, Whole, parameter
from distkern.common.sparse import Rows, SparseRows
from distkern.common.tiles import apply, scratch
from distkern.common.types import Floats
from distkern.kernels.base import AbstractScaledKernel
from distkern.kernels.features import AbstractFeatureBlock, AbstractFeatureKernel
from distkern.kernels.tiles import AbstractInnerProductKernel
from distkern.samplers import Draws
from distkern.samplers.base import Stream, monte_carlo_only


@dataclass(frozen=True)
class Polynomial(AbstractScaledKernel, AbstractInnerProductKernel, AbstractFeatureKernel):
    """k(x, y) = (gamma <x, y> + offset)^degree (Dai et al. 2014, Table 1).

    Features: a block is one tensor sketch (Pham and Pagh 2013), the circular convolution of ``degree``
    independent count sketches of [sqrt(gamma) x, sqrt(offset)], by discrete Fourier transforms. Its products
    estimate the kernel as they are, without a division by the number of columns.
    """

    degree: int = parameter(3, Whole(1), help="power of the inner product")
    offset: float = parameter(1.0, NOT_NEGATIVE, help="added to the inner product")

    name = "polynomial"
    tile_bytes = (10, 25)
    whole_blocks = True

    def of_products(self, products: Floats, left: Floats, right: Floats) -> None:
        products *= self.gamma
        products += self.offset
        apply(np.power, products, int(self.degree), into=products)

    def feature_block(self, draws: Draws, dtype: DTypeLike) -> TensorSketchBlock:
        monte_carlo_only(draws, self.name)
        width = draws.n_input + 1
        # as many words as the block has columns and the rows numbers, whichever way they are cut
        columns = Draws(draws.sampler, draws.seed, draws.block, int(self.degree), width)
        buckets = (columns.words(Stream.BUCKETS, width) % np.uint64(draws.n_draws)).astype(np.int64)
        factors = columns.signs(Stream.SIGNS, width) * self.gamma**0.5
        factors[:, -1] *= (self.offset / self.gamma) ** 0.5
        return TensorSketchBlock(buckets, factors.astype(dtype), draws.n_draws)


@dataclass(frozen=True)
class TensorSketchBlock(AbstractFeatureBlock):
    """One tensor sketch.

    Attributes
    ----------
    buckets : (degree, n_input + 1) to which column each input goes, the last input being a constant
    factors : (degree, n_input + 1) and with which factor
    size : columns
    """

    buckets: NDArray[np.int64]
    factors: Floats
    size: int

    @property
    def n_columns(self) -> int:
        return self.size

    @property
    def nbytes(self) -> int:
        return int(self.buckets.nbytes + self.factors.nbytes)

    def take(self, draws: NDArray[np.intp]) -> TensorSketchBlock:
        """The block is one draw."""
        return self

    def fill(self, rows: Rows, values: Floats, scale: float) -> None:
        shape = (values.shape[0], self.size // 2 + 1)
        kind = np.complex64 if values.dtype == np.float32 else np.complex128
        product, spectrum = scratch("sketch product", shape, kind), scratch("sketch spectrum", shape, kind)
        for factor in range(len(self.buckets)):
            self._count_sketch(rows, factor, values)
            apply(np.fft.rfft, values, axis=1, into=spectrum if factor else product)
            if factor:
                product *= spectrum
        product *= product.dtype.type(scale)
        apply(np.fft.irfft, product, n=self.size, axis=1, into=cast(Any, values))

    def _count_sketch(self, rows: Rows, factor: int, out: Floats) -> None:
        buckets, factors = self.buckets[factor], self.factors[factor]
        if isinstance(rows, SparseRows):
            places = rows.row_of_entries * self.size + buckets[rows.indices]
            sums = np.bincount(places, rows.data * factors[rows.indices], minlength=out.size)
            out[...] = sums.reshape(out.shape)
        else:
            order = np.argsort(buckets[:-1], kind="stable")
            used, starts = np.unique(buckets[order], return_index=True)
            signed: Floats = scratch("signed inputs", rows.shape, out.dtype)
            # mode "clip" writes into ``out`` directly; all positions are within
            apply(np.take, rows, order, axis=1, into=signed, mode="clip")
            signed *= factors[order]
            out.fill(0.0)
            out[:, used] = np.add.reduceat(signed, starts, axis=1)
        out[:, buckets[-1]] += factors[-1]
