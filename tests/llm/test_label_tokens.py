"""Which label a text or a token means, and the log-probability of each label."""

from math import exp, log

import numpy as np
import pytest

from auxcal import InvalidInputError
from auxcal.llm.label_tokens import LabelTokens
from auxcal.llm.records import BadRecord

LETTERS = LabelTokens(["A", "B", "C", "D"])
WORDS = LabelTokens(["positive", "negative", "neutral"])
PHRASES = LabelTokens(["very good", "very bad", "fair"])


def token(text, probability, **top):
    """Return a token as servers write it; underscores in the names of the alternatives are blanks."""
    alternatives = [{"token": name.replace("_", " "), "logprob": log(p)} for name, p in top.items()]
    return {"token": text, "logprob": log(probability), "top_logprobs": alternatives}


@pytest.mark.parametrize("text", ["B", " b", "B.", "(B)", "(B", '"B"', "**B**", "ĠB", "▁B", "B\n", "b)"])
def test_variants_of_a_label_are_the_label(text):
    assert LETTERS.find(text)[0] == 1


@pytest.mark.parametrize(
    "text",
    [
        "The answer is B.",
        "Both A and C seem right.\nAnswer: (B)",
        "ANSWER: B",
        '{"answer": "B", "confidence": 0.9}',
        "Answer: **B**",
        "A is wrong and C is wrong, so the correct answer is B) Paris",
        r"Thus $\boxed{B}$",
        "B) Paris",
        "B. Paris, as A cat knows",
        "Let us think.\nA prime number is odd.\n\nB",
        "Of these I would take (B), I think",
        "First I thought the answer is A. But no: the answer is B.",
    ],
)
def test_the_answer_is_found_in_prose(text):
    place, start = LETTERS.find(text)
    assert (place, text[start]) == (1, "B")


@pytest.mark.parametrize(
    "text", ["", "A prime number is odd", "I can't say.", "Between A and B", "The answer is 7", "Apple"]
)
def test_where_the_answer_is_unclear_there_is_none(text):
    assert LETTERS.find(text) is None


@pytest.mark.parametrize("text", ["Positive", "This review is positive.", "Label: positive", "positive\n"])
def test_a_word_is_found_whatever_its_case(text):
    assert WORDS.find(text)[0] == 0


def test_two_words_are_no_answer():
    assert WORDS.find("It is both positive and negative") is None


def test_labels_that_differ_in_case_alone_are_kept_apart():
    assert LabelTokens(["a", "A"]).find("A") == (1, 0)


def test_labels_that_are_marks_are_kept():
    assert LabelTokens(["+", "-", "*"]).find(" * ")[0] == 2


def test_variants_of_a_label_add_up():
    content = [token("A", 0.5, A=0.5, _A=0.2, a=0.1, B=0.1, C=0.04, D=0.01, The=0.03)]
    scores = LETTERS.scores(content, 0)
    np.testing.assert_allclose(np.exp(scores.logprobs), [0.8, 0.1, 0.04, 0.01])
    assert exp(scores.outside) == pytest.approx(0.03)
    assert scores.n_missing == 0


def test_a_label_that_was_not_returned_is_less_likely_than_all_that_were():
    scores = LETTERS.scores([token("A", 0.9, A=0.9, B=0.05, The=0.04)], 0)
    np.testing.assert_allclose(np.exp(scores.logprobs), [0.9, 0.05, 0.005, 0.005])  # 1 % is left, for two labels
    scores = LETTERS.scores([token("A", 0.5, A=0.5, B=0.05, The=0.04)], 0)
    np.testing.assert_allclose(np.exp(scores.logprobs), [0.5, 0.05, 0.02, 0.02])  # half of the least likely
    assert scores.n_missing == 2


def test_logarithms_stay_logarithms():
    content = [{"token": "A", "logprob": 0.0, "top_logprobs": [{"token": "B", "logprob": -80.0}]}]
    assert LETTERS.scores(content, 0).logprobs[1] == pytest.approx(-80)


def test_minus_9999_says_that_a_label_was_not_returned():
    content = [{"token": "A", "logprob": -0.1, "top_logprobs": [{"token": "B", "logprob": -9999.0}]}]
    scores = LETTERS.scores(content, 0)
    assert scores.n_missing == 3
    assert min(scores.logprobs) > -10


def test_the_token_that_was_drawn_counts_though_it_is_not_among_the_alternatives():
    assert exp(LETTERS.scores([token("D", 0.01, A=0.9, B=0.05)], 0).logprobs[3]) == pytest.approx(0.01)


def test_a_word_of_several_tokens_is_known_by_its_first():
    content = [token("pos", 0.7, pos=0.7, neg=0.2, neut=0.05), token("itive", 0.99)]
    np.testing.assert_allclose(np.exp(WORDS.scores(content, 0).logprobs), [0.7, 0.2, 0.05])


def test_while_a_token_may_begin_several_labels_the_next_decides():
    content = [token("very", 0.8, very=0.8, fair=0.1), token(" good", 0.75, _good=0.75, _bad=0.25)]
    scores = PHRASES.scores(content, 0)
    np.testing.assert_allclose(np.exp(scores.logprobs), [0.6, 0.2, 0.1])
    assert scores.n_missing == 0


@pytest.mark.parametrize("logprob", [float("nan"), 3.0])
def test_what_is_no_log_probability_is_refused(logprob):
    with pytest.raises(BadRecord, match="add up to"):
        LETTERS.scores([{"token": "A", "logprob": logprob, "top_logprobs": []}], 0)


def test_labels_are_a_list():
    with pytest.raises(InvalidInputError, match=r"\['A', 'B'\]; got 'AB'"):
        LabelTokens("AB")


@pytest.mark.parametrize("piece", ["\n", " \n", "\n*", "\n(", "answer is ", "A\n"])
def test_a_long_reply_is_searched_once(piece):
    labels = LabelTokens(["A", "B"])
    text = piece * 100_000  # of which a quadratic search takes minutes
    labels.find(text + "x")
    assert labels.find(text + "\nB") == (1, len(text) + 1)


@pytest.mark.parametrize("blank", ["\n", " ", "\t", "\r\n", "\u2028", "\n \n", "\n**", " (\n"])
def test_an_answer_on_a_line_of_its_own_is_found_after_any_blanks(blank):
    labels = LabelTokens(["yes", "no"])
    text = f"It could be yes or no.\n{blank}no"
    assert labels.find(text + " .") == (1, len(text) - 2)
