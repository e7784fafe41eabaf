"""D1 and D2 do what Keras' ImageDataGenerator does."""

import numpy as np
import pytest
from scipy import ndimage

from auxcal._core.errors import InvalidInputError
from auxcal_paper.shifts.images import D1, D2, Augment, affine


def keras_reference(image, angle, shift, zoom):
    """Keras' chain of 3 by 3 matrices, rotation · shift · zoom about the centre, channel by channel."""
    cos, sin = np.cos(angle), np.sin(angle)
    rotate = np.array([[cos, -sin, 0], [sin, cos, 0], [0, 0, 1]])
    move = np.array([[1, 0, shift[0]], [0, 1, shift[1]], [0, 0, 1]])
    scale = np.diag([zoom[0], zoom[1], 1])
    height, width = image.shape[1:]
    centre = np.array([[1, 0, height / 2 - 0.5], [0, 1, width / 2 - 0.5], [0, 0, 1]])
    matrix = centre @ rotate @ move @ scale @ np.linalg.inv(centre)
    return np.stack(
        [ndimage.affine_transform(channel, matrix[:2, :2], matrix[:2, 2], order=1, mode="nearest") for channel in image]
    )


@pytest.mark.parametrize("size", [(8, 8), (7, 12), (32, 32)])
def test_augment_is_kerass_affine_transform(size):
    augment = Augment(rotation=40, shift=0.4, zoom=0.5)
    images = np.random.default_rng(0).random((20, 3, *size)) * 255
    rng = np.random.default_rng(1)
    angles = np.deg2rad(rng.uniform(-40, 40, 20))
    shifts = rng.uniform(-0.4, 0.4, (20, 2)) * size
    zooms = rng.uniform(0.5, 1.5, (20, 2))
    expected = [keras_reference(*given) for given in zip(images, angles, shifts, zooms, strict=True)]
    np.testing.assert_allclose(augment(images, 1), np.stack(expected), atol=0.02)


def test_half_of_the_images_are_flipped():
    images = np.arange(4.0).reshape(1, 1, 1, 4).repeat(1000, axis=0).repeat(2, axis=2)
    flipped = np.round(Augment(flip=True)(images, 0), 3)
    is_flipped = (flipped[:, 0, 0] == [3, 2, 1, 0]).all(axis=1)
    is_same = (flipped[:, 0, 0] == [0, 1, 2, 3]).all(axis=1)
    assert (is_flipped | is_same).all()
    assert 0.45 < is_flipped.mean() < 0.55


def test_no_change_is_the_identity():
    images = np.random.default_rng(0).random((3, 3, 9, 5), dtype=np.float32)
    np.testing.assert_allclose(Augment()(images, 0), images, atol=1e-6)


def test_outside_is_the_nearest_pixel_of_the_border():
    image = np.arange(25.0).reshape(1, 1, 5, 5)
    far = np.array([[[1.0, 0, 100], [0, 1, 0]]])
    np.testing.assert_array_equal(affine(image, far)[0, 0], np.tile(image[0, 0, -1], (5, 1)))


def test_inputs_stay_and_the_seed_decides():
    images = np.random.default_rng(0).integers(0, 256, (10, 3, 16, 16), dtype=np.uint8)
    before, state = images.copy(), np.random.get_state()[1].copy()  # noqa: NPY002
    first, again, other = D1(images, 3), D1(images, np.random.default_rng(3)), D1(images, 4)
    np.testing.assert_array_equal(images, before)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    assert first.dtype == np.float32
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002


def test_values_stay_within_those_of_the_image():
    images = np.random.default_rng(0).random((50, 3, 16, 16), dtype=np.float32)
    changed = D2(images, 0)
    assert changed.min() >= 0
    assert changed.max() <= 1


@pytest.mark.parametrize("bad", [{"rotation": -1}, {"shift": -0.1}, {"zoom": 1.0}, {"zoom": float("nan")}])
def test_impossible_ranges_are_refused(bad):
    with pytest.raises(InvalidInputError, match="symmetric"):
        Augment(**bad)


def test_a_single_image_is_refused_with_advice():
    with pytest.raises(InvalidInputError, match=r"images\[None\]"):
        D1(np.zeros((3, 32, 32)), 0)
