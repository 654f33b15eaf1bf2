"""The demo's virtual examples."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from distkern.data.digits import VirtualDigits, _warp


def test_no_image_makes_both_training_and_test_rows():
    digits = VirtualDigits()
    train, test = digits.images("train"), digits.images("test")
    assert len(test) == round(0.2 * 1797)
    assert np.array_equal(np.sort(np.concatenate([train, test])), np.arange(1797))


@pytest.mark.parametrize("split", ["train", "test"])
def test_rows_are_made_of_the_images_of_their_split(split):
    # without distortion a row is the image it was made of
    plain = VirtualDigits(shift=0, rotation=0, scaling=0, noise=0, chunk_rows=2000)
    features, targets = plain.chunk(3, split)
    bunch = load_digits()
    chosen = plain.images(split)
    images = (bunch.images.reshape(1797, 64)[chosen] / 16).astype(np.float32)
    known = {image.tobytes(): label for image, label in zip(images, bunch.target[chosen], strict=True)}
    # the grid passes through floating point: undo the last bits
    rows = (np.round(features * 16) / 16).astype(np.float32)
    np.testing.assert_allclose(features, rows, atol=1e-4)
    assert [known[row.tobytes()] for row in rows] == targets.tolist()


def test_a_chunk_is_a_pure_function_of_seed_split_and_number():
    first, again = VirtualDigits(seed=1, chunk_rows=500), VirtualDigits(seed=1, chunk_rows=500)
    chunks = list(first.chunks(1200))
    assert [len(targets) for _, targets in chunks] == [500, 500, 200]
    assert chunks[0][0].dtype == np.float32
    for number in (2, 0, 1):
        features, targets = again.chunk(number)
        assert np.array_equal(features[: len(chunks[number][0])], chunks[number][0])
        assert np.array_equal(targets[: len(chunks[number][1])], chunks[number][1])
    for other in (first.chunk(1), first.chunk(0, "test"), VirtualDigits(seed=2, chunk_rows=500).chunk(0)):
        assert not np.array_equal(other[0], chunks[0][0])


def test_a_shift_of_one_pixel_moves_the_image():
    image = np.zeros((1, 8, 8), dtype=np.float32)
    image[0, 3, 4] = 1.0
    padded = np.pad(image, ((0, 0), (1, 2), (1, 2))).reshape(1, -1)
    one = np.ones(1, np.float32)

    def warp(angle, scale, down, across):
        shift = np.array([[down], [across]], dtype=np.float32)
        return _warp(
            padded, np.zeros(1, np.intp), one * np.float32(angle), one * np.float32(scale), shift
        ).reshape(8, 8)

    assert np.argmax(warp(0, 1, 1, 0)) == 2 * 8 + 4
    assert np.argmax(warp(0, 1, 0, -2)) == 3 * 8 + 6
    half = warp(0, 1, 0, 0.5)
    np.testing.assert_allclose([half[3, 3], half[3, 4]], [0.5, 0.5], atol=1e-6)
    # a quarter turn about the centre (3.5, 3.5) takes (3, 4) to another of the four central pixels
    turned = warp(np.pi / 2, 1, 0, 0)
    assert turned[3, 4] < 1e-5
    np.testing.assert_allclose(turned.sum(), 1, atol=1e-4)


def test_the_noise_and_the_classes_are_as_asked_for():
    digits = VirtualDigits(shift=0, rotation=0, scaling=0, noise=0.05, chunk_rows=4000)
    clean = VirtualDigits(shift=0, rotation=0, scaling=0, noise=0, chunk_rows=4000)
    difference = digits.chunk(0)[0] - clean.chunk(0)[0]
    assert abs(difference.std() - 0.05) < 0.001
    assert abs(difference.mean()) < 0.001
    counts = np.bincount(digits.chunk(0)[1], minlength=10) / 4000
    assert np.all(np.abs(counts - 0.1) < 0.03)
