"""Reading what language models write; the fixtures are from the real writers, by make_fixtures.py."""

import csv
import json
import runpy
from pathlib import Path

import numpy as np
import pytest

import auxcal
from auxcal import InputWarning, InvalidInputError
from auxcal.llm import FORMATS, read

FIXTURES = Path(__file__).parent / "fixtures"
LETTERS = ["A", "B", "C", "D"]
ROWS = list(runpy.run_path(str(FIXTURES.parent / "make_fixtures.py"))["questions"](40))
TRUTHS = {name: truth for name, truth, _ in ROWS}
LIKELIEST = ["ABCD"[int(np.argmax(logprobs))] for _, _, logprobs in ROWS]
EXPECTED = np.array([logprobs for _, _, logprobs in ROWS])


def fixture(name, **options):
    return read(FIXTURES / name, **options)


def write(path, *records):
    path.write_text("\n".join(each if isinstance(each, str) else json.dumps(each) for each in records) + "\n")
    return path


def completion(text="A", number=0, **choice):
    found = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop", "logprobs": None, **choice}
    return {"id": f"chatcmpl-{number}", "model": "m", "choices": [found]}


# Formats --------------------------------------------------------------------------------------------------------------


def test_bare_chat_completions():
    answers = fixture("chat.jsonl", labels=LETTERS)
    assert answers.format == "chat"
    assert answers.prediction.tolist() == LIKELIEST
    assert answers.labels == tuple(LETTERS)
    np.testing.assert_allclose(answers.logits, EXPECTED)
    assert answers.y is None
    assert answers.correct is None


def test_the_batch_api_with_truths_by_id():
    answers = fixture("batch.jsonl", labels=LETTERS, truth=TRUTHS)
    assert answers.unanswered == {"failed": 1, "refused": 1, "cut off": 1}
    assert np.flatnonzero(~answers.answered).tolist() == [3, 5, 7]
    assert len(answers) == len(answers.logits) == len(answers.y) == 37
    assert "question-3" in answers.all_ids
    assert "question-3" not in answers.ids
    np.testing.assert_array_equal(answers.correct, answers.prediction == [TRUTHS[each] for each in answers.ids])


def test_a_response_beside_keys_of_the_user():
    answers = fixture("server.jsonl", labels=LETTERS, truth="truth", group="subject")
    assert answers.ids.tolist() == list(TRUTHS)
    assert answers.y.tolist() == ["ABCD".index(truth) for truth in TRUTHS.values()]
    assert answers.groups[:5].tolist() == ["subject-0", "subject-1", "subject-2", "subject-3", "subject-0"]


def test_the_responses_api():
    answers = fixture("responses.jsonl", labels=LETTERS, truth="metadata.truth", id="metadata.id")
    assert answers.format == "responses"
    assert answers.unanswered == {"refused": 1, "cut off": 1}
    np.testing.assert_allclose(answers.logits, np.delete(EXPECTED, [2, 4], axis=0))


def test_the_letter_is_found_after_a_chain_of_thought():
    answers = fixture("thinking.jsonl", labels=LETTERS, truth="truth")
    assert answers.prediction.tolist() == LIKELIEST
    assert answers.signals["length"].tolist() == [13.0] * 40
    assert answers.signals["stated_confidence"][:2].tolist() == [0.6, 0.61]
    assert (answers.signals["missing_labels"] > 0).any()
    assert np.isfinite(answers.logits).all()


def test_choices_of_one_question_are_one_row_with_their_agreement():
    answers = fixture("samples-of-five.jsonl", labels=LETTERS, truth="truth")
    assert len(answers) == 10
    lines = [json.loads(line) for line in (FIXTURES / "samples-of-five.jsonl").read_text().splitlines()]
    texts = [[each["message"]["content"] for each in line["response"]["choices"]] for line in lines]
    shares = [each.count(chosen) / 5 for each, chosen in zip(texts, answers.prediction, strict=True)]
    np.testing.assert_allclose(answers.signals["agreement"], shares)
    np.testing.assert_allclose(answers.logits, EXPECTED[:10])


def test_a_judge_is_a_model_whose_truth_is_the_human_mark():
    answers = fixture("judge.jsonl", labels=["accept", "reject"], truth="human")
    assert answers.logits.shape == (40, 2)
    assert answers.correct.mean() == pytest.approx(0.925)


def test_without_log_probabilities_there_are_signals():
    answers = fixture("no-logprobs.jsonl", labels=LETTERS, truth="truth")
    assert answers.logits is None
    assert answers.y is None
    assert answers.prediction.tolist() == LIKELIEST
    assert sorted(answers.signals) == ["length", "stated_confidence"]
    assert answers.correct.mean() == pytest.approx(0.725)


def test_samples_of_the_harness_with_options():
    answers = fixture("samples_choices.jsonl")
    lines = [json.loads(line) for line in (FIXTURES / "samples_choices.jsonl").read_text().splitlines()]
    scores = np.array([[float(each[0]) for each in line["filtered_resps"]] for line in lines])
    assert answers.format == "harness"
    np.testing.assert_allclose(answers.logits, scores)
    assert answers.y.tolist() == [int(line["target"]) for line in lines]
    assert answers.correct.tolist() == [line["acc"] == 1 for line in lines]


def test_where_the_number_of_options_differs_ranked_log_probabilities_serve():
    answers = fixture("samples_uneven.jsonl")
    lines = [json.loads(line) for line in (FIXTURES / "samples_uneven.jsonl").read_text().splitlines()]
    assert answers.logits is None
    assert answers.correct.tolist() == [line["acc"] == 1 for line in lines]
    assert answers.signals["options"].tolist() == [len(line["filtered_resps"]) for line in lines]
    assert np.isnan(answers.signals["logprob_3"][0])  # of two options
    assert (answers.signals["logprob_1"] >= answers.signals["logprob_2"]).all()


def test_filters_of_the_harness_are_read_apart():
    assert fixture("samples_written.jsonl").unanswered == {"not readable": 10}  # the first, strict-match
    answers = fixture("samples_written.jsonl", filter="flexible-extract")
    assert answers.prediction.tolist() == ["l"] * 10
    assert not answers.correct.any()  # the harness says so too


def test_inspect_logs():
    answers = fixture("inspect.json")
    log = json.loads((FIXTURES / "inspect.json").read_text())
    marks = {each["id"]: each["scores"]["choice"]["value"] == "C" for each in log["samples"] if each["epoch"] == 1}
    assert answers.format == "inspect"
    assert answers.logits.shape == (5, 4)
    assert answers.unanswered == {"not readable": 1}
    assert answers.correct.tolist() == [marks[each] for each in answers.ids]
    assert answers.signals["agreement"].tolist() == [1.0] * 5  # of two epochs


@pytest.mark.parametrize("ending", ["jsonl", "csv", pytest.param("parquet", marks=pytest.mark.needs("tables"))])
def test_a_table_with_columns_that_the_user_names(tmp_path, ending):
    rows = [
        {"id": "a", "p_a": 0.7, "p_b": 0.2, "p_c": 0.0, "stated": 0.9, "topic": "law", "truth": "A"},
        {"id": "b", "p_a": 0.1, "p_b": 0.8, "p_c": 0.05, "stated": None, "topic": "art", "truth": "C"},
        {"id": "c", "p_a": 0.0, "p_b": 0.0, "p_c": 0.0, "stated": 0.1, "topic": None, "truth": "C"},
    ]
    path = tmp_path / f"table.{ending}"
    if ending == "jsonl":
        write(path, *rows)
    elif ending == "csv":
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
    else:
        import pyarrow
        import pyarrow.parquet

        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    columns = ["p_a", "p_b", "p_c"]
    found = read(path, ["A", "B", "C"], "truth", columns=columns, probabilities=True, signals=["stated", "topic"])
    assert found.format == "table"
    np.testing.assert_allclose(np.exp(found.logits), [[0.7, 0.2, 0.1], [0.1, 0.8, 0.05]])
    assert found.correct.tolist() == [True, False]
    np.testing.assert_allclose(np.exp(found.signals["outside"]), [0.1, 0.05])
    np.testing.assert_array_equal(found.signals["stated"], [0.9, np.nan])
    assert found.signals["topic"].tolist() == ["law", "art"]
    assert found.unanswered == {"not readable": 1}


def test_a_table_of_answers_that_were_read_before(tmp_path):
    rows = [{"answer": "B", "right": "B", "stated": "85 %"}, {"answer": None, "right": "A", "stated": None}]
    path = write(tmp_path / "t.jsonl", *rows)
    found = read(path, LETTERS, "right", prediction="answer", confidence="stated")
    assert found.prediction.tolist() == ["B"]
    assert found.signals["stated_confidence"].tolist() == [0.85]
    assert found.unanswered == {"not readable": 1}


def test_every_format_is_recognised_by_its_keys_and_can_be_named():
    files = {"chat": "chat.jsonl", "responses": "responses.jsonl", "harness": "samples_choices.jsonl"}
    files |= {"inspect": "inspect.json"}
    assert set(FORMATS) == {*files, "table"}
    for name, file in files.items():
        assert fixture(file).format == fixture(file, format=name).format == name


# Truth, signals and what can't be read --------------------------------------------------------------------------------


def test_the_truth_is_a_table_by_id(tmp_path):
    path = tmp_path / "truth.csv"
    path.write_text("id,truth\n" + "".join(f"{name},{truth}\n" for name, truth in TRUTHS.items()))
    answers = fixture("server.jsonl", labels=LETTERS, truth=path)
    np.testing.assert_array_equal(answers.y, fixture("server.jsonl", labels=LETTERS, truth="truth").y)


@pytest.mark.parametrize("name", ["007", 12345678901234567, "a", 1.5])
def test_ids_of_a_csv_table_are_those_of_the_answers(tmp_path, name):
    (tmp_path / "truth.csv").write_text(f"id,truth\n{name},B\n")
    path = write(tmp_path / "a.jsonl", {"id": name, "response": completion("B")})
    assert read(path, LETTERS, tmp_path / "truth.csv").correct.tolist() == [True]


def test_questions_without_a_truth_are_left_out_with_a_warning():
    with pytest.warns(InputWarning, match="39 of 40 questions have no truth"):
        answers = fixture("server.jsonl", labels=LETTERS, truth={"question-0": "D"})
    assert answers.ids.tolist() == ["question-0"]


def test_where_no_question_has_a_truth_the_error_says_where_to_name_it():
    with pytest.raises(InvalidInputError, match=r"no question has a truth in 'label'.*--truth"):
        fixture("server.jsonl", labels=LETTERS, truth="label")


@pytest.mark.parametrize(("truth", "y"), [("B", 1), ("b", 1), (1, 1), (1.0, 1), ("1", 1), (-1, -1)])
def test_a_truth_is_a_label_or_its_index(tmp_path, truth, y):
    path = write(tmp_path / "a.jsonl", {"p": 0.9, "q": 0.1, "t": truth})
    assert read(path, ["A", "B"], "t", columns=["p", "q"], probabilities=True).y.tolist() == [y]


def test_labels_that_are_numbers_are_no_indices(tmp_path):
    path = write(tmp_path / "a.jsonl", {"p": 0.9, "q": 0.1, "t": 1})
    assert read(path, ["1", "2"], "t", columns=["p", "q"], probabilities=True).y.tolist() == [0]


def test_free_text_is_right_if_it_is_the_truth(tmp_path):
    records = [{"t": truth, "response": completion(text, n)} for n, (text, truth) in enumerate(
        [("Paris.", "paris"), ("Rome", "Paris"), (" 42 ", 42)]
    )]  # fmt: skip
    answers = read(write(tmp_path / "a.jsonl", *records), truth="t")
    assert answers.prediction.tolist() == ["Paris", "Rome", "42"]
    assert answers.correct.tolist() == [True, False, True]


def test_correct_is_a_key_that_says_whether_an_answer_is_right(tmp_path):
    records = [{"ok": ok, "response": completion("x", n)} for n, ok in enumerate([True, 0, "C", "I"])]
    assert read(write(tmp_path / "a.jsonl", *records), correct="ok").correct.tolist() == [True, False, True, False]


def test_lines_with_the_same_id_are_one_row_with_their_agreement(tmp_path):
    texts = {"a": "BBA", "b": "C"}
    records = [
        {"id": name, "response": completion(t, f"{name}{n}")} for name in texts for n, t in enumerate(texts[name])
    ]
    answers = read(write(tmp_path / "a.jsonl", *records), LETTERS)
    assert answers.prediction.tolist() == ["B", "C"]
    np.testing.assert_allclose(answers.signals["agreement"], [2 / 3, np.nan])


def test_a_pattern_finds_the_confidence_in_the_text(tmp_path):
    records = [{"response": completion(text, n)} for n, text in enumerate(["A, sure: 8/10", "B, sure: 3/10", "C"])]
    answers = read(write(tmp_path / "a.jsonl", *records), LETTERS, confidence=r"sure: (\d+)")
    np.testing.assert_allclose(answers.signals["stated_confidence"], [0.08, 0.03, np.nan])


def test_the_arguments_of_a_tool_are_an_answer(tmp_path):
    calls = [{"function": {"name": "f", "arguments": '{"label": "B"}'}}]
    record = completion(None, message={"content": None, "tool_calls": calls})
    assert read(write(tmp_path / "a.jsonl", record), LETTERS).prediction.tolist() == ["B"]


def test_one_token_that_is_no_label_leaves_the_likeliest_label(tmp_path):
    top = [{"token": "None", "logprob": -0.1}, {"token": "B", "logprob": -3.0}, {"token": "A", "logprob": -5.0}]
    content = [{"token": "None", "logprob": -0.1, "top_logprobs": top}]
    answers = read(write(tmp_path / "a.jsonl", completion("None", logprobs={"content": content})), LETTERS)
    assert answers.prediction.tolist() == ["B"]
    assert np.exp(answers.signals["outside"][0]) > 0.9


def test_answers_go_into_a_calibrator_as_they_are():
    answers = fixture("server.jsonl", labels=LETTERS, truth="truth")
    calibrator = auxcal.PlattScaling().fit(answers.logits, answers.y)
    assert calibrator.predict_confidence(answers.logits).shape == (40,)


def test_a_file_of_another_kind_is_named_by_its_keys(tmp_path):
    with pytest.raises(InvalidInputError, match=r"a\.jsonl: expected .*chat completions.*got the keys 'x', 'y'"):
        read(write(tmp_path / "a.jsonl", {"x": 1, "y": 2}))


def test_an_extension_that_is_none_of_these_is_refused(tmp_path):
    with pytest.raises(InvalidInputError, match=r"\.jsonl.*got \.txt"):
        read(write(tmp_path / "a.txt", completion()))
