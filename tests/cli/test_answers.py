"""Files of language models' answers in every command that reads logits."""

import csv
import json

import numpy as np
import pytest

import auxcal

TRUE = "--labels", "A,B,C", "--truth", "truth"


def line(rng, number):
    """Return the response of a server to a question of three options: every twentieth is refused."""
    logprobs = rng.normal(scale=3, size=3)
    truth = int((logprobs / 2 + rng.gumbel(size=3)).argmax())
    logprobs -= np.log(np.exp(logprobs).sum()) + 0.01
    top = [{"token": label, "logprob": float(each)} for label, each in zip("ABC", logprobs, strict=True)]
    top = sorted([*top, {"token": "The", "logprob": -5.0}], key=lambda each: -each["logprob"])[:3]
    message = {"role": "assistant", "content": top[0]["token"]}
    logprobs = {"content": [{**top[0], "top_logprobs": top}]}
    if number % 20 == 0:
        message, logprobs = {"role": "assistant", "content": None, "refusal": "No."}, None
    choice = {"index": 0, "finish_reason": "stop", "message": message, "logprobs": logprobs}
    response = {"id": f"chatcmpl-{number}", "model": "small", "choices": [choice]}
    return {"id": f"q{number}", "truth": "ABC"[truth], "day": number % 3, "response": response}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("answers")
    rng = np.random.default_rng(0)
    for name, numbers in {"fit": range(600), "held": range(600, 1800), "new": range(1800, 2400)}.items():
        records = [line(rng, number) for number in numbers]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return folder


@pytest.fixture(scope="module")
def fitted(folder):
    answers = auxcal.llm.read(folder / "fit.jsonl", ["A", "B", "C"], "truth")
    assert len(answers) == 570
    return folder / "ccac-x.safetensors"


@pytest.fixture
def calibrator(folder, fitted, call):
    if not fitted.exists():
        assert call("fit", folder / "fit.jsonl", *TRUE, "-o", fitted) == 0
    return fitted


def lines(path):
    return [json.loads(each) for each in path.read_text().splitlines()]


@pytest.mark.needs("report")
def test_from_the_file_of_a_server_to_a_report_in_one_command(folder, call, capsys, tmp_path):
    out = tmp_path / "report"
    assert call("compare", folder / "fit.jsonl", *TRUE, "--methods", "platt,ccac-x", "--out", out) == 0
    said = capsys.readouterr()
    assert "30 of 600 questions have no answer (30 refused) and are left out." in said.err
    assert "CCAC-X" in said.out
    assert (out / "report.html").exists()


def test_the_calibrator_remembers_labels_and_signals(calibrator):
    inputs = auxcal.load(calibrator).inputs_
    assert inputs.class_names == ("A", "B", "C")
    assert {"outside", "missing_labels"} <= set(inputs.feature_names)


def test_score_adds_to_each_line_and_never_accepts_what_is_no_answer(folder, calibrator, call, tmp_path):
    out, again = tmp_path / "held.jsonl", tmp_path / "new.jsonl"
    assert call("score", calibrator, folder / "held.jsonl", "-o", out) == 0
    before, after = lines(folder / "held.jsonl"), lines(out)
    nothing = {"prediction": None, "confidence": None, "in_fit": False}
    assert [each | nothing for each in before] == [each | nothing for each in after]
    assert not any(each["in_fit"] for each in after)
    answered = np.array([number % 20 != 0 for number in range(600, 1800)])
    assert [each["confidence"] is not None for each in after] == answered.tolist()
    certified = tmp_path / "certified.safetensors"
    certified.write_bytes(calibrator.read_bytes())
    assert call("threshold", out, "--risk", "0.2", "--save", certified) == 0  # which knows the key of the truth
    assert call("score", certified, folder / "new.jsonl", "-o", again) == 0
    accepted = np.array([each["accepted"] for each in lines(again)])
    assert 0 < accepted.sum() < len(accepted)
    assert not accepted[::20].any()


def test_lines_that_were_scored_before_lose_what_is_not_written_again(folder, calibrator, call, tmp_path):
    path, out, again = tmp_path / "old.jsonl", tmp_path / "out.jsonl", tmp_path / "again.jsonl"
    old = {"accepted": True, "proba_A": 0.5, "proba_0": 0.5, "confidence": 0.5}
    path.write_text("".join(json.dumps(each | old) + "\n" for each in lines(folder / "fit.jsonl")))
    assert call("score", calibrator, path, "-o", out) == 0
    assert all(not {"accepted", "proba_A", "proba_0"} & set(each) for each in lines(out))
    assert sum(each["in_fit"] for each in lines(out)) == 570
    assert call("threshold", out, "--label", "truth", "--risk", "0.2") == 2  # rows of the fit promise nothing
    assert call("score", calibrator, out, "-o", again) == 0
    assert lines(again) == lines(out)


def test_a_promise_may_be_withdrawn_for_lines(folder, calibrator, call, tmp_path):
    scored, certified, out = tmp_path / "held.jsonl", tmp_path / "certified.safetensors", tmp_path / "out.jsonl"
    certified.write_bytes(calibrator.read_bytes())
    assert call("score", certified, folder / "held.jsonl", "-o", scored) == 0
    assert call("threshold", scored, "--risk", "0.2", "--save", certified) == 0
    sure = [
        json.loads(json.dumps(each).replace('"token": "The"', '"token": "C"')) for each in lines(folder / "new.jsonl")
    ]
    for each in sure:
        each["tokens"] = [1, 2]
        if each["response"]["choices"][0]["logprobs"]:
            for place, token in enumerate(each["response"]["choices"][0]["logprobs"]["content"][0]["top_logprobs"]):
                token["logprob"] = -0.001 if place == 0 else -9.0 - place
    path = tmp_path / "sure.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in sure))
    assert call("score", certified, path, "-o", out) in (3, 4)
    written = lines(out)
    assert [each["tokens"] for each in written] == [[1, 2]] * len(sure)
    assert not any(each["accepted"] for each in written)
    assert sum(each["confidence"] is not None for each in written) == 570


def test_score_keeps_the_lines_whose_truth_is_not_known(folder, calibrator, call, tmp_path):
    path, out = tmp_path / "some.jsonl", tmp_path / "scored.jsonl"
    records = [
        each if number % 3 else each | {"truth": None} for number, each in enumerate(lines(folder / "new.jsonl"))
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    assert call("score", calibrator, path, *TRUE, "-o", out) == 0
    assert [each["id"] for each in lines(out)] == [each["id"] for each in records]
    assert [each["confidence"] is None for each in lines(out)] == [number % 20 == 0 for number in range(1800, 2400)]


def test_check_monitor_and_pick_read_answers(folder, calibrator, call, capsys, tmp_path):
    assert call("check", calibrator, folder / "new.jsonl") == 0
    assert call("monitor", calibrator, folder / "new.jsonl", "--by", "day", *TRUE) == 0
    assert " measured" in capsys.readouterr().out
    assert call("pick", calibrator, folder / "new.jsonl", "--n", "10", "-o", tmp_path / "to-label.csv") == 0
    with (tmp_path / "to-label.csv").open() as file:
        picked = list(csv.DictReader(file))
    assert len(picked) == 10
    assert all(row["id"].startswith("q") for row in picked)
    assert call("pick", calibrator, folder / "new.jsonl", "--n", "10", "-o", tmp_path / "to-label.jsonl") == 0
    assert len(lines(tmp_path / "to-label.jsonl")) == 10


def test_a_scored_file_is_a_table(folder, calibrator, call, capsys, tmp_path):
    out = tmp_path / "held.jsonl"
    assert call("score", calibrator, folder / "held.jsonl", "-o", out) == 0
    capsys.readouterr()
    assert call("evaluate", out, "--label", "truth", "--resamples", "0", "--json") == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 1140
    assert call("evaluate", out) == 2
    assert "'prediction', 'confidence', 'in_fit'. Name" in capsys.readouterr().err


def test_rows_of_a_table_may_be_objects(call, tmp_path, capsys):
    rng = np.random.default_rng(0)
    logits = rng.normal(scale=3, size=(200, 2))
    y = (logits / 2 + rng.gumbel(size=logits.shape)).argmax(axis=1)
    names = ["cat", "dog"]
    rows = [{"cat": a, "dog": b, "y": names[each]} for (a, b), each in zip(logits.tolist(), y, strict=True)]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    out = tmp_path / "platt.safetensors"
    assert call("fit", path, "--columns", "cat,dog", "--method", "platt", "-o", out) == 0
    assert "200 rows of 2 classes" in capsys.readouterr().out
    assert call("score", out, path, "-o", tmp_path / "scored.jsonl") == 0
    expected = auxcal.load(out).predict_confidence(logits)
    np.testing.assert_allclose([each["confidence"] for each in lines(tmp_path / "scored.jsonl")], expected, rtol=1e-6)


def test_a_list_in_each_row_is_a_matrix(call, tmp_path, capsys):
    rng = np.random.default_rng(0)
    logits = rng.normal(scale=3, size=(200, 3))
    y = (logits / 2 + rng.gumbel(size=logits.shape)).argmax(axis=1)
    rows = [{"logits": row, "y": int(each)} for row, each in zip(logits.tolist(), y, strict=True)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert call("fit", tmp_path / "rows.jsonl", "--method", "platt", "-o", tmp_path / "p.safetensors") == 0
    assert "200 rows of 3 classes" in capsys.readouterr().out


@pytest.mark.parametrize("choice", ["fail", "skip"])
def test_on_bad_rows_decides_over_malformed_lines(folder, call, tmp_path, capsys, choice):
    path = tmp_path / "bad.jsonl"
    path.write_text((folder / "fit.jsonl").read_text() + '{"id": "cut\n')
    code = call("fit", path, *TRUE, "--method", "platt", "--on-bad-rows", choice, "-o", tmp_path / "p.safetensors")
    said = capsys.readouterr().err
    assert code == {"fail": 2, "skip": 0}[choice]
    assert "line 601: expected JSON" in said


def test_show_says_what_a_file_holds_and_what_to_do_next(folder, call, capsys):
    assert call("show", folder / "new.jsonl") == 0
    said = capsys.readouterr().out
    assert "chat completions" in said
    assert "small" in said
    assert "--labels A,B,C --truth KEY" in said


@pytest.fixture(scope="module")
def stated(tmp_path_factory):
    """Answers without log-probabilities, which say how sure they are; every twentieth is refused."""
    folder = tmp_path_factory.mktemp("stated")
    rng = np.random.default_rng(1)
    for name, size in {"fit": 600, "held": 1200}.items():
        records = []
        for number in range(size):
            sure = round(rng.uniform(0.3, 1), 3)
            text = json.dumps({"answer": "A" if rng.random() < sure else "B", "confidence": sure})
            message = {"content": text} if number % 20 else {"content": None, "refusal": "No."}
            choice = {"message": message, "finish_reason": "stop", "logprobs": None}
            response = {"id": f"{name}-{number}", "choices": [choice], "usage": {"completion_tokens": number % 7}}
            records.append({"id": f"q{number}", "truth": "A", "response": response})
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return folder


def test_without_log_probabilities_signals_take_their_place(stated, call, capsys, tmp_path):
    true = "--labels", "A,B", "--truth", "truth"
    out, scored, again = tmp_path / "s.safetensors", tmp_path / "scored.jsonl", tmp_path / "again.jsonl"
    assert call("fit", stated / "fit.jsonl", *true, "-o", out) == 0
    assert "570 answers with 2 signals" in capsys.readouterr().out
    assert auxcal.load(out).columns.names == ("length", "stated_confidence")
    assert call("score", out, stated / "held.jsonl", *true, "-o", scored) == 0
    assert [each["id"] for each in lines(scored)] == [f"q{number}" for number in range(1200)]
    assert [each["confidence"] is None for each in lines(scored)] == [number % 20 == 0 for number in range(1200)]
    assert call("threshold", scored, "--risk", "0.3", "--correct", "correct", "--save", out) == 0
    assert call("score", out, stated / "held.jsonl", "--labels", "A,B", "-o", again) == 0
    accepted = np.array([each["accepted"] for each in lines(again)])
    assert accepted.any()
    assert not accepted[::20].any()
    assert call("check", out, stated / "held.jsonl", "--labels", "A,B") == 0


def test_signals_of_several_replies_remember_the_labels(call, capsys, tmp_path):
    rng = np.random.default_rng(2)
    for name in ("fit", "held"):
        records = []
        for number in range(400):
            easy = rng.random()
            for reply in range(5):
                text = f"Answer: **{'A' if rng.random() < easy else 'B'}**."
                choice = {"message": {"content": text}, "finish_reason": "stop", "logprobs": None}
                response = {"id": f"{name}-{number}-{reply}", "choices": [choice]}
                records.append({"id": f"q{number}", "truth": "A", "response": response})
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    fitted = tmp_path / "sig.safetensors"
    true = "--truth", "truth"
    assert call("fit", tmp_path / "fit.jsonl", "--labels", "A,B", *true, "-o", fitted) == 0
    assert auxcal.load(fitted).inputs_.answers == ("A", "B")
    for labels in ((), ("--labels", "A,B")):
        out = tmp_path / f"scored{len(labels)}.csv"
        assert call("score", fitted, tmp_path / "held.jsonl", *true, *labels, "-o", out) == 0
        capsys.readouterr()
        assert call("evaluate", out, "--correct", "correct", "--json") == 0
        assert 0.4 < json.loads(capsys.readouterr().out)["accuracy"] < 0.6
    assert (tmp_path / "scored0.csv").read_text() == (tmp_path / "scored2.csv").read_text()


def test_without_log_probabilities_and_signals_the_error_says_so(call, tmp_path, capsys):
    record = {"id": 1, "truth": "A", "response": {"choices": [{"message": {"content": "A"}, "logprobs": None}]}}
    (tmp_path / "a.jsonl").write_text(json.dumps(record) + "\n")
    assert call("fit", tmp_path / "a.jsonl", *TRUE, "-o", tmp_path / "c.safetensors") == 2
    assert "neither log-probabilities of labels nor signals" in capsys.readouterr().err
