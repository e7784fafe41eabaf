"""The paper's own suites run from end to end on small files of the official layouts."""

from functools import partial

import numpy as np
import pytest
import torch

from auxcal import NO_CLASS
from auxcal._core.errors import FileFormatError
from auxcal_paper import suites
from auxcal_paper.availability import availability, is_ready
from auxcal_paper.classifiers import imagenet_vgg, train_vgg16
from auxcal_paper.classifiers.resnet50 import ResNet50
from auxcal_paper.datasets import dataset
from auxcal_paper.datasets.cifar10 import CLASSES, load_cifar10
from auxcal_paper.datasets.cifar100 import BUS, PICKUP_TRUCK, load_cifar100
from auxcal_paper.datasets.imagenet import N_CLASSES, enlarged, imagenet_paths, read_images
from auxcal_paper.suites import imagenet
from auxcal_paper.suites.cifar import (
    CIFAR_RESNET50,
    CIFAR_RESNETS,
    CIFAR_VGG16,
    CITED_RESNET56,
    RESNET20,
    RESNET50,
    TRAINED_VGG16,
    VGG16,
    Sizes,
    cifar_suite,
)
from auxcal_paper.suites.imagenet import IMAGENET, ROUNDS, imagenet_suite

from .test_image_classifiers import cifar_vgg_file, imagenet_vgg_file, keras_resnet, randomised, resnet_files

THE_SIX = (*CIFAR_VGG16, *CIFAR_RESNET50, *IMAGENET)
SMALL = Sizes(augmented=(20, 10), out_of_distribution=(20, 10), adversarial=6, parts=(20, 5, 5))


@pytest.fixture
def imagenet_dir(cifar100_dir):
    """An image for each of the 1000 classes, wider than high, in one of ten colours."""
    image_module = pytest.importorskip("PIL.Image")
    for index in range(N_CLASSES):
        folder = cifar100_dir / dataset("imagenet").folder / "ILSVRC2012_img_val_subset" / str(index)
        folder.mkdir(parents=True)
        image_module.new("RGB", (20, 16), (25 * (index % 10), 0, 255)).save(folder / "ILSVRC2012_val_00000001.JPEG")
    return cifar100_dir


def put_weights(data_dir, n_classes, network):
    folder = data_dir / f"cifar{n_classes}-{network.weights}"
    folder.mkdir()
    if network is VGG16:
        cifar_vgg_file(folder / f"cifar{n_classes}vgg.h5", n_classes)
    elif network is RESNET50:
        torch.save(randomised(ResNet50(n_classes, keras=False)).state_dict(), folder / "resnet50.pt")
    else:
        resnet_files(folder)


def test_the_six_are_listed_with_what_they_need(tmp_path):
    names = {entry.name for entry in THE_SIX}
    assert names == {f"{data}-{net}" for data in ("cifar10", "cifar100", "imagenet") for net in ("vgg16", "resnet50")}
    assert {entry.name for entry in suites.SUITES} >= names
    for entry in THE_SIX:
        assert not is_ready(entry, tmp_path, tmp_path)
        lines = availability(entry, tmp_path, tmp_path)
        assert "missing, needs" in lines[0]
        assert len(lines) == 1 + len(entry.needs)


def test_they_have_the_papers_sizes():
    assert {entry.sizes for entry in (*CIFAR_RESNETS, *CIFAR_VGG16, *CIFAR_RESNET50)} == {(30_000, 2_000, 8_000)}
    assert {entry.sizes for entry in IMAGENET} == {(10_000, 2_000, 18_000)}


@pytest.mark.parametrize(
    ("n_classes", "network"), [(10, VGG16), (100, RESNET50), (10, RESNET20), (100, CITED_RESNET56)]
)
def test_a_cifar_suite_runs_from_its_files_to_its_page(
    n_classes, network, cifar100_dir, tmp_path, monkeypatch, run_reproduce
):
    put_weights(cifar100_dir, n_classes, network)
    small = cifar_suite(n_classes, network, SMALL)
    monkeypatch.setattr(suites, "SUITES", (small,))
    run_reproduce(small.name, cifar100_dir)
    page = (tmp_path / "out" / f"{small.name}.md").read_text()
    assert f"the paper's {network.stands_for} on CIFAR-{n_classes}" in page
    assert all(f"## {shift}" in page for shift in small.shifts)


def test_a_vgg16_of_our_own_stands_in_until_official_weights_are_there(
    cifar100_dir, tmp_path, monkeypatch, run_reproduce
):
    train_vgg16.main(["10", "--data", str(cifar100_dir), "--epochs", "1", "--width", "0.0625"])
    small = cifar_suite(10, TRAINED_VGG16, SMALL, official=cifar_suite(10, VGG16, SMALL))
    monkeypatch.setattr(suites, "SUITES", (small,))
    page = tmp_path / "out" / "cifar10-vgg16.md"
    run_reproduce(small.name, cifar100_dir)
    assert "train_vgg16 10`" in page.read_text()
    before = {path.name for path in (tmp_path / "cache" / "bundles").iterdir()}
    put_weights(cifar100_dir, 10, VGG16)
    run_reproduce(small.name, cifar100_dir)
    assert "the weights that the paper names" in page.read_text()
    assert len(before) == len({path.name for path in (tmp_path / "cache" / "bundles").iterdir()} - before) == 5


@pytest.mark.parametrize("n_classes", [10, 100])
def test_foreign_images_are_of_no_class_but_two(n_classes, cifar100_dir):
    """`bus` of CIFAR-100 is automobile of CIFAR-10 and `pickup_truck` truck, and the other way round."""
    network = RESNET20 if n_classes == 10 else CITED_RESNET56  # the smallest: labels are what is asked for
    put_weights(cifar100_dir, n_classes, network)
    other = (load_cifar100 if n_classes == 10 else load_cifar10)(cifar100_dir, "train").y
    everything = Sizes(out_of_distribution=(0, len(other)))
    y = cifar_suite(n_classes, network, everything).build("OOD", cifar100_dir, lambda done: None).y
    for ours, theirs in ((1, BUS), (9, PICKUP_TRUCK)):
        ours, theirs = (ours, theirs) if n_classes == 10 else (theirs, ours)
        assert (y == ours).sum() == (other == theirs).sum() > 0
    assert (y == NO_CLASS).sum() == len(other) - (y >= 0).sum()
    assert len(set(y.tolist())) == 3


def test_the_two_classes_are_those_of_the_official_lists():
    assert (BUS, PICKUP_TRUCK) == (13, 58)  # of fine_label_names.txt, counted from 0
    assert (CLASSES[1], CLASSES[9]) == ("automobile", "truck")


@pytest.mark.parametrize("network", ["VGG16", "ResNet-50"])
def test_an_imagenet_suite_builds_its_bundles(network, imagenet_dir, monkeypatch):
    suite = imagenet_suite(network)
    weights = dataset(suite.needs[-1])
    path = imagenet_dir / weights.folder / weights.files[0]
    path.parent.mkdir(parents=True)
    if network == "VGG16":  # at a 16th of its width: the file of the whole has 528 MB
        imagenet_vgg_file(path, 1 / 16)
        monkeypatch.setattr(imagenet_vgg, "imagenet_vgg16", partial(imagenet_vgg.imagenet_vgg16, width=1 / 16))
    else:
        keras_resnet(path.parent)
    paths, y = imagenet_paths(imagenet_dir)
    monkeypatch.setattr(imagenet, "imagenet_paths", lambda data_dir: (paths[:3], y[:3]))
    shares = []
    bundles = {shift: suite.build(shift, imagenet_dir, shares.append) for shift in suite.shifts}
    assert {shift: len(bundle) for shift, bundle in bundles.items()} == {"D0": 3, "D1": 3 * ROUNDS, "OOD": 6}
    np.testing.assert_array_equal(bundles["OOD"].y, [0, 1, 2, NO_CLASS, NO_CLASS, NO_CLASS])
    np.testing.assert_array_equal(bundles["OOD"].logits[:3], bundles["D0"].logits)
    np.testing.assert_array_equal(bundles["D1"].y, bundles["D1"].groups)
    assert len(np.unique(bundles["D1"].logits, axis=0)) == 3 * ROUNDS
    assert all(bundle.n_classes == 1000 for bundle in bundles.values())
    assert shares[-1] == 1


def test_images_are_scaled_and_cut_to_their_middle(imagenet_dir):
    paths, y = imagenet_paths(imagenet_dir)
    assert y.tolist() == list(range(N_CLASSES))
    image = read_images(paths[9:10], 8)
    assert image.shape == (1, 3, 8, 8)
    np.testing.assert_allclose(image.mean(axis=(0, 2, 3)), [225 / 255, 0, 1], atol=0.02)


def test_a_class_that_is_missing_is_noticed(imagenet_dir):
    folder = imagenet_dir / dataset("imagenet").folder / "ILSVRC2012_img_val_subset"
    (folder / "17").rename(imagenet_dir / "aside")
    with pytest.raises(FileFormatError, match="there are none of 1, such as 17"):
        imagenet_paths(imagenet_dir)


@pytest.mark.parametrize("contents", [b"", b"\0" * 3073, b"\xff" * 3074], ids=["empty", "CIFAR-10", "class 255"])
def test_another_file_is_not_cifar100(contents, cifar100_dir):
    (cifar100_dir / "cifar-100-binary" / "test.bin").write_bytes(contents)
    with pytest.raises(FileFormatError, match="binary version of CIFAR-100"):
        load_cifar100(cifar100_dir, "test")


def test_small_images_are_enlarged_between_their_pixels():
    pixels = np.array([[[[0, 100]], [[50, 50]], [[255, 0]]]], np.uint8)
    red = np.array([0, 0, 25, 75, 100, 100]) / 255  # of six pixels, two are beyond the middle of the outer ones
    large = enlarged(pixels, 4)
    assert large.shape == (1, 3, 4, 4)
    np.testing.assert_allclose(large[0, 0], np.tile(red[1:5], (4, 1)), atol=1e-6)
