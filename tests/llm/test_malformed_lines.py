"""Lines that can't be used are answered with their number and the reason; `on_bad_rows` decides."""

import copy
import json
import warnings

import pytest

from auxcal import InputWarning, InvalidInputError
from auxcal.llm import read

LABELS = ["A", "B"]
TOP = [{"token": "A", "logprob": -0.1}, {"token": "B", "logprob": -3.0}]
GOOD = {
    "id": "q",
    "truth": "A",
    "response": {
        "id": "chatcmpl-0",
        "model": "m",
        "choices": [
            {
                "message": {"role": "assistant", "content": "A"},
                "finish_reason": "stop",
                "logprobs": {"content": [{"token": "A", "logprob": -0.1, "top_logprobs": TOP}]},
            }
        ],
    },
}


def good(number):
    record = copy.deepcopy(GOOD)
    record["id"], record["response"]["id"] = f"q{number}", f"chatcmpl-{number}"
    return record


def changed(**at):
    """Return a good record with other values; keys are paths, in which __ stands for a step."""
    record = good(99)
    for path, value in at.items():
        *steps, last = (int(step) if step.isdecimal() else step for step in path.split("__"))
        place = record
        for step in steps:
            place = place[step]
        if value is ...:
            del place[last]
        else:
            place[last] = value
    return record


CHOICE, TOKEN = "response__choices__0", "response__choices__0__logprobs__content__0"

MALFORMED = {
    "cut JSON": (json.dumps(GOOD)[:80], "expected JSON"),
    "cut within a string": ('{"id": "q', "expected JSON"),
    "no JSON at all": ("Traceback (most recent call last):", "expected JSON"),
    "text that is not UTF-8": (b'{"id": "\xff\xfe"}', "expected JSON"),
    "a list": ([1, 2], "expected an object of JSON, {…}; got a list"),
    "a number": ("17", "expected an object of JSON, {…}; got a number"),
    "null": ("null", "expected an object of JSON, {…}; got null"),
    "an empty object": ({}, "expected the server's response"),
    "no response": (changed(response=...), "expected the server's response"),
    "a response that is text": (changed(response="A"), "expected the server's response"),
    "a body that is text": (changed(response={"status_code": 200, "body": "A"}), "'response.body'"),
    "a status that is text": (
        changed(response={"status_code": "ok", "body": {}}),
        "'response.status_code'; got a string",
    ),
    "no choices": (changed(response__choices=...), "expected a list under 'choices'; there is no such key"),
    "empty choices": (changed(response__choices=[]), "expected at least one choice"),
    "choices that are null": (changed(response__choices=None), "expected a list under 'choices'; got null"),
    "a choice that is text": (changed(response__choices=["A"]), "expected an object in 'choices'; got a string"),
    "no message": (changed(**{f"{CHOICE}__message": ...}), "expected an object under 'message'; there is no such key"),
    "a message that is text": (changed(**{f"{CHOICE}__message": "A"}), "under 'message'; got a string"),
    "content that is a number": (changed(**{f"{CHOICE}__message__content": 3}), "'message.content'; got a number"),
    "logprobs that are a list": (changed(**{f"{CHOICE}__logprobs": [1]}), "expected an object under 'logprobs'"),
    "content of logprobs that is text": (changed(**{f"{CHOICE}__logprobs__content": "A"}), "'logprobs.content'"),
    "a token without its text": (changed(**{f"{TOKEN}__token": ...}), "expected the key 'token'"),
    "a token without its logprob": (changed(**{f"{TOKEN}__logprob": ...}), "expected the key 'logprob'"),
    "a logprob that is text": (changed(**{f"{TOKEN}__logprob": "-0.1"}), "of another type"),
    "a logprob that is NaN": (changed(**{f"{TOKEN}__logprob": float("nan")}), "log-probability, a number up to 0"),
    "a logprob above 0": (changed(**{f"{TOKEN}__logprob": 2.5}), "a number up to 0; got 2.5"),
    "an alternative that is NaN": (
        changed(**{f"{TOKEN}__top_logprobs": [{"token": "B", "logprob": float("nan")}]}),
        "add up to nan",
    ),
    "an alternative that is null": (changed(**{f"{TOKEN}__top_logprobs": [None]}), "of another type"),
    "an alternative without its token": (changed(**{f"{TOKEN}__top_logprobs": [{"logprob": -1}]}), "the key 'token'"),
    "a truth that is no label": (changed(truth="E"), "expected a truth that is one of A, B; got 'E'"),
    "a truth that is a list": (changed(truth=["A"]), "expected the true label; got a list"),
    "a truth that is true": (changed(truth=True), "expected the true label; got true. Is it under correct"),
    "an id that is a list": (changed(id=[1]), "expected an id that is a string or a number; got a list"),
    "a response twice": (good(1), "repeats line 1"),
    "another truth of the same id": (changed(id="q1", truth="B"), "the same truth as in an earlier line of 'q1'"),
    "another model": (changed(response__model="other"), "expected answers of one model, 'm'; got one of 'other'"),
}


def write(path, line):
    text = line if isinstance(line, bytes) else (line if isinstance(line, str) else json.dumps(line)).encode()
    good_lines = [json.dumps(good(number)).encode() for number in (1, 2)]
    path.write_bytes(b"\n".join([good_lines[0], text, good_lines[1]]) + b"\n")
    return path


@pytest.mark.parametrize("what", MALFORMED)
def test_a_malformed_line_fails_with_its_number_and_the_reason_or_is_skipped(tmp_path, what):
    line, reason = MALFORMED[what]
    path = write(tmp_path / "a.jsonl", line)
    with pytest.raises(InvalidInputError) as error:
        read(path, LABELS, "truth")
    assert "a.jsonl: line 2: " in str(error.value)
    assert reason in str(error.value)
    assert "--on-bad-rows skip" in str(error.value)
    with pytest.warns(InputWarning, match=r"1 of 3 lines can't be used and are left out \(line 2: ") as warned:
        answers = read(path, LABELS, "truth", on_bad_rows="skip")
    assert reason in str(warned[0].message)
    assert reason in answers.problems[2]
    assert answers.ids.tolist() == ["q1", "q2"]
    assert answers.logits.shape == (2, 2)


def test_blank_lines_are_no_lines(tmp_path):
    assert len(read(write(tmp_path / "a.jsonl", "  "), LABELS, "truth")) == 2


def test_a_request_that_failed_is_no_malformed_line(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        line = {"id": "b", "custom_id": "q9", "response": None, "error": {"code": "x"}, "truth": "A"}
        answers = read(write(tmp_path / "a.jsonl", line), LABELS, "truth")
    assert answers.unanswered == {"failed": 1}


def test_only_lines_that_can_not_be_used_are_an_error(tmp_path):
    (tmp_path / "a.jsonl").write_text("x\ny\n")
    with pytest.raises(InvalidInputError, match="no record that can be read"):
        read(tmp_path / "a.jsonl")


def test_on_bad_rows_is_one_of_two_words(tmp_path):
    with pytest.raises(InvalidInputError, match="on_bad_rows must be one of fail, skip; got 'ignore'"):
        read(write(tmp_path / "a.jsonl", good(3)), on_bad_rows="ignore")


CUT_OFF = b'{"eval": {},\n"samples": [\n{"id": 1, "output": {"choices": []}, "target": '
NO_SAMPLE = b'{"samples": [{"id": 1, "output": {"choices": []}, "target": "A"}, 17]}'


@pytest.mark.parametrize(
    ("log", "reason"),
    [
        (CUT_OFF, "line 3: expected JSON"),
        ('{"samples": []}'.encode("utf-16"), "expected JSON in UTF-8"),
        (b"[" * 100_000, "expected JSON"),
        (NO_SAMPLE, "record 2: expected an object of JSON, {…}; got a number"),
    ],
    ids=["cut off", "no UTF-8", "too deep", "a number among the samples"],
)
def test_a_malformed_log_is_refused_with_the_place(tmp_path, log, reason):
    (tmp_path / "log.json").write_bytes(log)
    with pytest.raises(InvalidInputError, match=reason):
        read(tmp_path / "log.json")


def test_responses_with_one_id_of_the_server_are_of_several_questions(tmp_path):
    records = [{**good(number), "id": f"q{number}"} for number in (1, 2)]
    for record in records:
        record["response"]["id"] = "chatcmpl"
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    assert list(read(tmp_path / "answers.jsonl", labels=["A", "B"], truth="truth").ids) == ["q1", "q2"]
