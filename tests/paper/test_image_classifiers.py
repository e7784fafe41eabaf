"""Loaders of published weights, on files of the same layout with random numbers."""

import numpy as np
import pytest
import torch
from torch import nn

from auxcal._core.errors import FileFormatError, InvalidInputError, MissingDataError
from auxcal_paper.classifiers._image_classifier import ImageClassifier
from auxcal_paper.classifiers._onnx import OnnxNetwork
from auxcal_paper.classifiers.cifar_resnet import CifarResNet, cifar_resnet
from auxcal_paper.classifiers.cifar_vgg import cifar_vgg16
from auxcal_paper.classifiers.efficientnet import EfficientNetLite0, efficientnet_lite0
from auxcal_paper.classifiers.imagenet_vgg import imagenet_vgg16, vgg16
from auxcal_paper.classifiers.linear_head import train_head
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
        imagenet_resnet50(tmp_path / "weights.pth")


@pytest.mark.parametrize("load", [imagenet_resnet50, imagenet_vgg16, cifar_resnet50, cifar_vgg16])
def test_missing_and_damaged_files_are_refused(tmp_path, load):
    with pytest.raises(MissingDataError, match="there is none"):
        load(tmp_path / "none")
    (tmp_path / "text").write_text("not weights")
    with pytest.raises(FileFormatError, match="expected"):
        load(tmp_path / "text")


def test_imagenet_resnet50_has_torchvisions_names_and_shapes(tmp_path):
    network = ResNet50(1000, for_cifar=False)
    shapes = {name: tuple(value.shape) for name, value in network.state_dict().items()}
    assert sum(p.numel() for p in network.parameters()) == 25_557_032  # torchvision's documentation
    assert shapes["conv1.weight"] == (64, 3, 7, 7)
    assert shapes["layer1.0.downsample.0.weight"] == (256, 64, 1, 1)
    assert shapes["layer4.2.conv2.weight"] == (512, 512, 3, 3)
    assert shapes["fc.weight"] == (1000, 2048)
    torch.save(network.state_dict(), tmp_path / "resnet50.pth")
    classifier = imagenet_resnet50(tmp_path / "resnet50.pth")
    assert by_torch(classifier, np.zeros((1, 3, 64, 64), np.float32)).shape == (1, 1000)


def test_cifar_resnet50_reads_its_weights_and_refuses_other_classes(tmp_path):
    torch.save(randomised(ResNet50(10, for_cifar=True)).state_dict(), tmp_path / "resnet50.pt")
    assert by_torch(cifar_resnet50(tmp_path / "resnet50.pt"), IMAGES).shape == (3, 10)
    with pytest.raises(FileFormatError, match="number of classes"):
        cifar_resnet50(tmp_path / "resnet50.pt", n_classes=100)


def test_imagenet_vgg16_has_torchvisions_names_and_shapes():
    with torch.device("meta"):  # no memory for its 138 million weights
        network = vgg16()
    shapes = {name: tuple(value.shape) for name, value in network.state_dict().items()}
    assert sum(p.numel() for p in network.parameters()) == 138_357_544  # torchvision's documentation
    assert shapes["features.0.weight"] == (64, 3, 3, 3)
    assert shapes["features.28.bias"] == (512,)
    assert shapes["classifier.0.weight"] == (4096, 25088)
    assert shapes["classifier.6.weight"] == (1000, 4096)
    assert len(shapes) == 32


def keras_file(path, n_classes, rng):
    """Write weights as Keras does, and return a function that computes the logits by hand."""
    h5py = pytest.importorskip("h5py")
    widths = (64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0)
    layers, inputs, conv = [], 3, 0
    for width in widths:
        if width:
            conv += 1
            scale = (2 / (9 * inputs)) ** 0.5
            kernel = rng.normal(0, scale, (3, 3, inputs, width)), rng.normal(0, 0.1, width)
            layers += [(f"conv2d_{conv}", kernel), (f"batch_normalization_{conv}", norm(width, rng))]
            inputs = width
    dense = rng.normal(0, 0.06, (512, 512)), rng.normal(0, 0.1, 512)
    layers += [("dense_1", dense), ("batch_normalization_14", norm(512, rng))]
    layers += [("dense_2", (rng.normal(0, 0.06, (512, n_classes)), rng.normal(0, 0.1, n_classes)))]
    with h5py.File(path, "w") as file:
        file.attrs["layer_names"] = [b"dropout_1", *(name.encode() for name, _ in layers)]
        file.create_group("dropout_1").attrs["weight_names"] = np.array([], dtype="S1")
        for name, values in layers:
            keys = [f"{name}/value_{i}:0" for i in range(len(values))]
            group = file.create_group(name)
            group.attrs["weight_names"] = [key.encode() for key in keys]
            for key, value in zip(keys, values, strict=True):
                group[key] = value.astype(np.float32)
    return layers


def norm(width, rng):
    return (
        rng.uniform(0.8, 1.2, width),
        rng.normal(0, 0.1, width),
        rng.normal(0.3, 0.1, width),
        rng.uniform(0.5, 1, width),
    )


def keras_forward(layers, x, pools):
    """The Keras network on (n, H, W, C) in NumPy: convolution, ReLU, batch norm, pooling; dense layers."""
    values = iter(layers)
    for width in pools:
        if width:
            kernel, bias = next(values)[1]
            padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
            windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))
            x = np.maximum(np.einsum("nhwcij,ijco->nhwo", windows, kernel, optimize=True) + bias, 0)
            x = keras_norm(x, *next(values)[1])
        else:
            n, h, w, c = x.shape
            x = x.reshape(n, h // 2, 2, w // 2, 2, c).max(axis=(2, 4))
    kernel, bias = next(values)[1]
    x = keras_norm(np.maximum(x.reshape(len(x), -1) @ kernel + bias, 0), *next(values)[1])
    kernel, bias = next(values)[1]
    return x @ kernel + bias


def keras_norm(x, gamma, beta, mean, variance):
    return (x - mean) / np.sqrt(variance + 1e-3) * gamma + beta


def test_cifar_vgg_computes_what_the_keras_network_does(tmp_path):
    layers = keras_file(tmp_path / "cifar10vgg.h5", 10, np.random.default_rng(0))
    classifier = cifar_vgg16(tmp_path / "cifar10vgg.h5")
    pools = (64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0)
    scaled = (IMAGES[:1].transpose(0, 2, 3, 1) * 255.0 - 120.707) / 64.15
    expected = keras_forward(layers, scaled, pools)
    np.testing.assert_allclose(by_torch(classifier, IMAGES[:1]), expected, rtol=1e-3, atol=1e-3)
    with pytest.raises(FileFormatError, match=r"dense_2.*number of classes"):
        cifar_vgg16(tmp_path / "cifar10vgg.h5", n_classes=100)


def test_a_keras_file_of_another_network_is_refused(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file.attrs["layer_names"] = []
    with pytest.raises(FileFormatError, match="expected the 29 layers"):
        cifar_vgg16(tmp_path / "other.h5")


@pytest.fixture
def efficientnet_dir(tmp_path):
    folder = tmp_path / "efficientnet-lite0"
    folder.mkdir()
    torch.save(randomised(EfficientNetLite0()).state_dict(), folder / "efficientnet-lite0-57934424.pth")
    return tmp_path


def test_efficientnet_resizes_and_takes_a_head(efficientnet_dir):
    assert by_torch(efficientnet_lite0(efficientnet_dir, size=64), IMAGES).shape == (3, 1000)
    features = by_torch(efficientnet_lite0(efficientnet_dir, size=64, head=nn.Identity()), IMAGES)
    assert features.shape == (3, 1280)
    head = train_head(features, np.array([0, 1, 2]), n_classes=3, epochs=2)
    logits = efficientnet_lite0(efficientnet_dir, size=64, head=head).logits(IMAGES)
    np.testing.assert_allclose(
        logits, features @ head.weight.detach().numpy().T + head.bias.detach().numpy(), atol=1e-3
    )
    with pytest.raises(InvalidInputError, match="multiple of 32"):
        efficientnet_lite0(efficientnet_dir, size=100)


def test_efficientnet_has_the_published_layout():
    shapes = {name: tuple(value.shape) for name, value in EfficientNetLite0().state_dict().items()}
    assert len(shapes) == 296
    assert shapes["_blocks.0._depthwise_conv.weight"] == (32, 1, 3, 3)
    assert shapes["_blocks.15._project_conv.weight"] == (320, 1152, 1, 1)
    assert shapes["_fc.weight"] == (1000, 1280)


def test_a_head_learns_and_its_random_state_decides():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 600)
    features = (np.eye(3)[y] * 5 + rng.normal(0, 1, (600, 3)) + 100).astype(np.float32)
    head, same = (train_head(features, y, n_classes=3, epochs=40) for _ in range(2))
    scores = features @ head.weight.detach().numpy().T + head.bias.detach().numpy()
    assert (scores.argmax(axis=1) == y).mean() > 0.95
    assert torch.equal(head.weight, same.weight)


def test_a_compiled_network_is_the_network_for_any_batch():
    network = randomised(nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 900, 5)))
    classifier = ImageClassifier(network, (0.5, 0.4, 0.3), (0.2, 0.3, 0.4))
    steps = []
    logits = OnnxNetwork(network, (3, 32, 32))(IMAGES, batch_size=2, report=steps.append)
    np.testing.assert_allclose(logits, network(torch.from_numpy(IMAGES)).detach().numpy(), atol=1e-4)
    np.testing.assert_allclose(classifier.logits(IMAGES), by_torch(classifier, IMAGES), atol=1e-4)
    assert steps == [2 / 3, 1]
