import re
import string

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auxcal._core.errors import InvalidInputError
from auxcal_paper.shifts.text import OPERATIONS, TextNoise

SENTENCE = "calibrated confidence reveals whether classifiers predicted correctly despite shifted inputs"
DOCUMENT = f"{SENTENCE} {SENTENCE}"  # 20 words of at least six letters


def changed_words(before: str, after: str) -> list[tuple[str, str]]:
    pairs = zip(before.split(" "), after.split(" "), strict=True)
    return [(old, new) for old, new in pairs if old != new]


def noisy(operation: str, document: str, random_state: int = 0, **settings: object) -> str:
    (after,) = TextNoise((operation,), **settings)([document], random_state)  # type: ignore[arg-type]
    return after


@pytest.mark.parametrize("operation", ["substitute", "delete"])
def test_changes_the_share_of_the_words(operation: str) -> None:
    changes = [len(changed_words(DOCUMENT, noisy(operation, DOCUMENT, seed))) for seed in range(30)]
    assert max(changes) == 6  # int(0.3 * 20); a substitute may be the character that was there
    assert np.mean(changes) > 5.5


def test_at_least_one_and_at_most_max_words() -> None:
    assert len(changed_words("calibration", noisy("delete", "calibration", word_share=0.0))) == 1
    assert len(changed_words(DOCUMENT, noisy("delete", DOCUMENT, max_words=2))) == 2
    long = DOCUMENT + " " + DOCUMENT + " " + DOCUMENT
    assert len(changed_words(long, noisy("delete", long))) == 10
    assert len(changed_words(long, noisy("delete", long, max_words=None))) == 18


def test_changes_the_share_of_the_characters() -> None:
    word = "abcdefghijkl"
    assert len(noisy("delete", word)) == 12 - 3
    assert len(noisy("delete", word, char_share=0.5)) == 12 - 6
    assert len(noisy("delete", "x" * 100, char_share=0.5)) == 100 - 10
    assert len(noisy("delete", word, char_share=0.0)) == 12 - 1


def test_substitute_keeps_the_length_and_draws_typed_characters() -> None:
    for old, new in changed_words(DOCUMENT, noisy("substitute", DOCUMENT)):
        assert len(new) == len(old)
        fresh = {b for a, b in zip(old, new, strict=True) if a != b}
        assert fresh <= set(string.ascii_letters + string.digits + "!@#$%^&*()_+")


def test_swap_moves_neighbours_and_keeps_the_case_of_the_place() -> None:
    for seed in range(20):
        after = noisy("swap", "Rates", seed)
        assert after[0].isupper()
        assert after[1:].islower()
        assert sorted(after.lower()) == sorted("rates")
        assert after != "Rates"


NLPAUG = {  # the mapping of OcrAug in nlpaug 0.0.14, which it reads in both directions
    "0": "89oOD", "1": "47lI", "2": "zZ", "5": "8", "6": "b", "8": "sS@&", "9": "g", "o": "u", "r": "k", "C": "G",
    "O": "DU", "E": "B",
}  # fmt: skip


def test_ocr_misreads_what_nlpaug_does() -> None:
    pairs = {(a, b) for a, others in NLPAUG.items() for b in others}
    for char in string.ascii_letters + string.digits + "@&":
        expected = {b for a, b in pairs if a == char} | {a for a, b in pairs if b == char}
        assert {noisy("ocr", char, seed) for seed in range(80)} == (expected or {char})


@pytest.mark.parametrize("operation", ["substitute", "swap", "delete"])
def test_spares_short_words_though_it_draws_them(operation: str) -> None:
    assert noisy(operation, "it is so far off") == "it is so far off"
    half_short = " ".join(["it confidence"] * 10)  # six of twenty are drawn, and half of these are short
    changes = [len(changed_words(half_short, noisy(operation, half_short, seed))) for seed in range(200)]
    assert 2.5 < np.mean(changes) < 3.2


@given(st.text(max_size=200), st.integers(0, 1000))
@settings(max_examples=60)
def test_a_space_separates_words_and_marks(document: str, seed: int) -> None:
    tokens = re.findall(r"\w+|[^\w\s]", document)
    for operation in ("swap", "delete"):
        after = noisy(operation, document, seed).split(" ")
        assert len(after) == max(1, len(tokens))
        assert [token for token in after if not re.match(r"\w", token)] == [
            token for token in tokens or [""] if not re.match(r"\w", token)
        ]


def test_a_document_without_change_is_tried_again() -> None:
    one_of_many = "it " * 20 + "confidence"  # one draw of six in 21 misses the only long word in 71 % of all cases
    changed = [noisy("delete", one_of_many, seed) != one_of_many for seed in range(300)]
    assert 0.65 < np.mean(changed) < 0.83  # 1 - 0.71 ** 4 = 0.74


def test_same_random_state_same_texts_and_inputs_unchanged() -> None:
    documents = [DOCUMENT, "Ship sinks.", ""]
    before, state = list(documents), np.random.get_state()[1].copy()  # type: ignore[index, union-attr]  # noqa: NPY002
    first, second = TextNoise()(documents, 3), TextNoise()(documents, np.random.default_rng(3))
    assert first == second
    assert first != TextNoise()(documents, 4)
    assert documents == before
    assert (np.random.get_state()[1] == state).all()  # type: ignore[index]  # noqa: NPY002
    assert len(first) == 3
    assert first[2] == ""


def test_every_operation_is_applied_by_default() -> None:
    assert TextNoise().operations == tuple(OPERATIONS) == ("ocr", "substitute", "swap", "delete")
    assert TextNoise(operations=())([DOCUMENT], 0) == [DOCUMENT]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"operations": ("ocr", "shout")}, "Leave out shout"),
        ({"word_share": 1.5}, r"word_share must be a share in \[0, 1\]; got 1.5"),
        ({"char_share": -0.1}, "char_share must be a share"),
        ({"max_words": 0}, "max_words must be at least 1; got 0"),
    ],
)
def test_refuses_what_it_cannot_use(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        TextNoise(**arguments)  # type: ignore[arg-type]
