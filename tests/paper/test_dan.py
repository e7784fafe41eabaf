from collections.abc import Callable

import numpy as np
import pytest
import torch

from auxcal._core.errors import InvalidInputError
from auxcal_paper.classifiers.dan import TextClassifier, train_convolutional, train_dan
from auxcal_paper.classifiers.tokenizer import Tokenizer, words
from auxcal_paper.datasets.glove import WordVectors

VOCABULARIES = ("wheat corn harvest grain", "bank rate loan bond", "port cargo vessel crew")
Trainer = Callable[..., TextClassifier]


def corpus(n: int, random_state: int) -> tuple[list[str], np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """Texts of which every word tells the class."""
    rng = np.random.default_rng(random_state)
    y = rng.integers(0, 3, size=n)
    return [" ".join(rng.choice(VOCABULARIES[c].split(), size=rng.integers(5, 12))) for c in y], y


def vectors() -> WordVectors:
    known = tuple(" ".join(VOCABULARIES).split())
    return WordVectors(known, np.random.default_rng(0).normal(size=(len(known), 8)).astype(np.float32))


def averaging(texts: list[str], y: object, **settings: int) -> TextClassifier:
    return train_dan(texts, y, epochs=8, **settings)  # type: ignore[arg-type]


def convolving(texts: list[str], y: object, **settings: int) -> TextClassifier:
    return train_convolutional(texts, y, vectors(), epochs=4, length=149, **settings)  # type: ignore[arg-type]


both = pytest.mark.parametrize("trainer", [averaging, convolving])


@both
def test_learns_a_separable_corpus(trainer: Trainer) -> None:
    classifier = trainer(*corpus(400, 0))
    texts, y = corpus(60, 1)
    logits = classifier.logits(texts)
    assert logits.shape == (60, 3)
    assert logits.dtype == np.float32
    assert (logits.argmax(axis=1) == y).mean() > 0.95


@both
def test_same_random_state_same_bits_and_nothing_global_changes(trainer: Trainer) -> None:
    texts, y = corpus(100, 0)
    torch.manual_seed(5)
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    first = trainer(texts, y, random_state=1).logits(texts)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_num_threads() == threads
    torch.manual_seed(6)
    np.testing.assert_array_equal(trainer(texts, y, random_state=1).logits(texts), first)
    assert not np.array_equal(trainer(texts, y, random_state=2).logits(texts), first)


def test_a_document_s_logits_do_not_depend_on_the_others() -> None:
    texts, y = corpus(100, 0)
    classifier = averaging(texts, y)
    np.testing.assert_allclose(classifier.logits(texts)[3:4], classifier.logits(texts[3:4]), atol=1e-5)


def test_a_document_without_known_words_has_logits() -> None:
    classifier = averaging(*corpus(100, 0))
    assert np.isfinite(classifier.logits(["", "zyzzyva"])).all()


def test_word_vectors_start_from_the_given_ones_and_learn() -> None:
    texts, y = corpus(60, 0)
    given = vectors()
    before = given.vectors.copy()

    def learned(epochs: int) -> tuple[Tokenizer, np.ndarray[tuple[int, int], np.dtype[np.float32]]]:
        classifier = train_convolutional(texts, y, given, epochs=epochs, length=149)
        return classifier.tokenizer, dict(classifier.network.named_parameters())["0.vectors"].detach().numpy()

    tokenizer, start = learned(epochs=0)
    np.testing.assert_array_equal(start, given.matrix(tokenizer.index, tokenizer.size))
    _, end = learned(epochs=1)
    assert (start[1:] != end[1:]).any(axis=1).all()
    np.testing.assert_array_equal(end[0], 0)  # the padding
    np.testing.assert_array_equal(given.vectors, before)


@pytest.mark.parametrize("y", [[0, 1], [0, 1, -1]])
def test_refuses_labels_that_do_not_fit(y: list[int]) -> None:
    with pytest.raises(InvalidInputError, match="y must have a class index"):
        averaging(["a", "b", "c"], y)


def test_refuses_sequences_too_short_for_the_convolutions() -> None:
    with pytest.raises(InvalidInputError, match=r"length must be at least 149 words.*got 148"):
        train_convolutional(*corpus(60, 0), vectors(), epochs=0, length=148)


def test_words_are_cut_as_keras_does() -> None:
    assert words("U.S. don't\tSTOP_me\n(now)") == ["u", "s", "don't", "stop", "me", "now"]


def test_numbers_go_by_frequency_then_first_appearance() -> None:
    tokenizer = Tokenizer.of(["b a c", "c a d"], n_words=4, length=5)
    assert tokenizer.index == {"a": 1, "c": 2, "b": 3}
    assert tokenizer.size == 4


def test_sequences_are_padded_and_cut_in_front() -> None:
    tokenizer = Tokenizer({"a": 1, "b": 2, "c": 3}, length=3)
    sequences = tokenizer.sequences(["a", "c a b c", "", "b unknown c"])
    assert sequences.tolist() == [[0, 0, 1], [1, 2, 3], [0, 0, 0], [0, 2, 3]]
