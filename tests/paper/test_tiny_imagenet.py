"""Tiny-ImageNet is read from its official folders, in the order of the sorted WordNet ids."""

import numpy as np
import pytest

from auxcal._core.errors import FileFormatError, MissingDataError
from auxcal_paper.datasets.tiny_imagenet import load_tiny_imagenet, wnids


def test_classes_are_sorted(tiny_dir):
    assert wnids(tiny_dir) == ("n01443537", "n02123045", "n04285008")


@pytest.mark.parametrize(("part", "each"), [("train", 4), ("val", 2)])
def test_every_image_has_its_class(tiny_dir, part, each):
    images = load_tiny_imagenet(tiny_dir, part)
    assert images.pixels.shape == (3 * each, 3, 64, 64)
    assert images.y.tolist() == [0] * each + [1] * each + [2] * each
    colourful = images.pixels[[0, each, 2 * each]].mean(axis=(2, 3))
    assert colourful.argmax(axis=1).tolist() == [0, 1, 2]
    assert colourful.max() > 240


def test_grey_images_become_colour(tiny_dir):
    grey = load_tiny_imagenet(tiny_dir, "train").pixels[3]
    assert np.ptp(grey.mean(axis=(1, 2))) == 0


def test_most_takes_the_first_by_number_and_classes_chooses(tiny_dir):
    images = load_tiny_imagenet(tiny_dir, "train", most=3, classes=[2, 0], size=32)
    assert images.y.tolist() == [2, 2, 2, 0, 0, 0]
    assert images.pixels.shape == (6, 3, 32, 32)
    assert np.ptp(images.pixels[2].mean(axis=(1, 2))) > 200  # the grey one has the highest number


def test_missing_data_is_a_sentence(tmp_path):
    with pytest.raises(MissingDataError, match=r"wnids\.txt.*cs231n\.stanford\.edu"):
        wnids(tmp_path)


def test_no_images_is_a_sentence(tiny_dir):
    with pytest.raises(FileFormatError, match="found none"):
        load_tiny_imagenet(tiny_dir, "train", classes=[])
