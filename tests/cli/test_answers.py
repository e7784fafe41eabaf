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


# ---- folders, patterns and several files ----


def written(name, text, reply=0):
    """Return one of the replies to a question whose answer is A, without log-probabilities."""
    choice = {"message": {"content": text}, "finish_reason": "stop", "logprobs": None}
    usage = {"completion_tokens": 1 + sum(map(ord, name)) % 7}
    return {"id": name, "truth": "A", "response": {"id": f"{name}-{reply}", "choices": [choice], "usage": usage}}


@pytest.fixture
def parts(folder, tmp_path):
    """Cut the lines of a file into two parts and an empty one."""

    def cut(name):
        texts = (folder / f"{name}.jsonl").read_text().splitlines(keepends=True)
        (tmp_path / name).mkdir()
        for part, some in {"a": texts[::2], "b": [], "c": texts[1::2]}.items():
            (tmp_path / name / f"{part}.jsonl").write_text("".join(some))
        return tmp_path / name

    return cut


def test_a_folder_or_a_pattern_is_fitted_as_one_file_is(parts, calibrator, call, tmp_path, capsys):
    capsys.readouterr()
    for number, path in enumerate((parts("fit"), tmp_path / "fit" / "*.jsonl")):
        out = tmp_path / f"{number}.safetensors"
        assert call("fit", path, *TRUE, "-o", out) == 0
        assert "570 rows of 3 classes and 5 features" in capsys.readouterr().out
        assert auxcal.load(out).inputs_ == auxcal.load(calibrator).inputs_


def test_check_monitor_pick_and_plan_take_a_folder(folder, parts, calibrator, call, capsys, tmp_path):
    def found(*arguments):
        capsys.readouterr()
        assert call(*arguments, "--json") == 0
        return json.loads(capsys.readouterr().out)

    one, new = folder / "new.jsonl", parts("new")
    assert found("check", calibrator, new)["verdict"] == found("check", calibrator, one)["verdict"]
    slices = found("check", calibrator, new, "--by", "day")["slices"]
    assert {each["name"]: each["rows"] for each in slices} == {"0": 190, "1": 190, "2": 190}
    chunks = [found("monitor", calibrator, path, "--by", "day", *TRUE)["chunks"] for path in (one, new)]
    assert [each["measured"] for each in chunks[0]] == [each["measured"] for each in chunks[1]]
    goal = "--accuracy-within", "0.02"
    assert found("plan", new, *TRUE, *goal) == found("plan", one, *TRUE, *goal)
    assert found("pick", calibrator, new, "--n", "10", "-o", tmp_path / "picked.csv")["rows"] == 570


def test_a_state_knows_each_file_of_answers_of_a_folder(parts, calibrator, call, capsys, tmp_path):
    new, state = parts("new"), tmp_path / "m.state"
    for words in ("570 new rows in 2 of 2 files", "No new rows: all 570 were seen before"):
        assert call("monitor", calibrator, new, "--state", state, *TRUE) == 0
        assert words in capsys.readouterr().out


def test_a_folder_of_answers_is_scored_part_by_part(folder, parts, calibrator, call, capsys, tmp_path):
    held, out = parts("held"), tmp_path / "scored"
    assert call("score", calibrator, held, "-o", out) == 0
    assert call("score", calibrator, folder / "held.jsonl", "-o", tmp_path / "one.jsonl") == 0
    expected = {each["id"]: each for each in lines(tmp_path / "one.jsonl")}
    for part in "ac":
        written, read = lines(out / f"{part}.jsonl"), lines(held / f"{part}.jsonl")
        assert [each["id"] for each in written] == [each["id"] for each in read]
        assert all(each == expected[each["id"]] for each in written)
    assert (out / "b.jsonl").read_text() == ""
    capsys.readouterr()
    assert call("evaluate", out, "--calibrator", calibrator, "--resamples", "0", "--json") == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 1140
    assert call("threshold", out, "--calibrator", calibrator, "--risk", "0.2") == 0
    assert call("plan", out, "--label", "truth") == 0  # of which the scores are taken
    assert "1,140 of 1,140 rows have labels" in capsys.readouterr().out


def test_parts_whose_names_say_something_else_are_not_written(folder, calibrator, call, capsys, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.ndjson").write_text((folder / "new.jsonl").read_text())
    assert call("score", calibrator, tmp_path / "in", "-o", tmp_path / "out") == 2
    assert "Write to a file, with --out scored.jsonl" in capsys.readouterr().err
    assert call("score", calibrator, tmp_path / "in", "-o", tmp_path / "scored.jsonl") == 0


def test_adapt_takes_labelled_answers(folder, parts, calibrator, call, capsys, tmp_path):
    out = tmp_path / "adapted.safetensors"
    some = "--labelled", folder / "held.jsonl"  # the calibrator knows the key of the truth
    assert call("adapt", calibrator, parts("new"), *some, "-o", out, "--if-new", "warn") == 0
    assert "570 rows without labels and 1,140 with labels" in capsys.readouterr().out


def test_a_signal_that_only_a_later_part_has_is_one_of_all(call, capsys, tmp_path):
    rng = np.random.default_rng(3)
    (tmp_path / "in").mkdir()
    for part, replies in {"a": 1, "b": 3}.items():
        records = []
        for number in range(300):
            easy = rng.random()
            for reply in range(replies):
                records.append(written(f"{part}{number}", "A" if rng.random() < easy else "B", reply))
        (tmp_path / "in" / f"{part}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    out = tmp_path / "s.safetensors"
    assert call("fit", tmp_path / "in", "--labels", "A,B", "--truth", "truth", "-o", out) == 0
    assert "600 answers with 2 signals" in capsys.readouterr().out
    assert auxcal.load(out).columns.names == ("length", "agreement")
    assert call("score", out, tmp_path / "in", "-o", tmp_path / "scored") == 0


# ---- what answers belong to, and whether they are right ----


@pytest.mark.needs("report")
def test_groups_and_ids_are_keys_of_the_lines(folder, call, capsys, tmp_path):
    grouped = tmp_path / "grouped.safetensors"
    assert call("fit", folder / "fit.jsonl", *TRUE, "--group", "day", "-o", grouped) == 0
    out = tmp_path / "report"
    keys = "--group", "day", "--id", "response.id"
    assert call("compare", folder / "fit.jsonl", *TRUE, *keys, "--methods", "platt", "--out", out) == 0
    assert "chatcmpl-1" in (out / "report.html").read_text()
    capsys.readouterr()
    assert call("fit", folder / "fit.jsonl", *TRUE, "--group", "nope", "-o", grouped) == 2
    assert "expected a group under 'nope'" in capsys.readouterr().err


def test_sentences_without_labels_are_not_taken_for_wrong(call, capsys, tmp_path):
    (tmp_path / "in").mkdir()
    for part in "ab":
        records = [written(f"{part}{number}", "The answer is A") for number in range(200)]
        (tmp_path / "in" / f"{part}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    for path in (tmp_path / "in", tmp_path / "in" / "a.jsonl"):
        assert call("fit", path, "--truth", "truth", "-o", tmp_path / "c.safetensors") == 2
        said = capsys.readouterr().err
        assert "answers is its truth, word for word; the first is 'The answer is A'" in said
        assert "--labels" in said
    assert call("fit", path, "--labels", "A,B", "--truth", "truth", "-o", tmp_path / "c.safetensors") == 0
    assert "right answers: 100.0 %" in capsys.readouterr().out


def test_what_is_learned_from_needs_a_truth(folder, call, capsys, tmp_path):
    out = tmp_path / "c.safetensors"
    assert call("fit", folder / "fit.jsonl", "-o", out) == 2
    assert "which answers are right is not known" in capsys.readouterr().err
    assert call("fit", folder / "fit.jsonl", "--labels", "A,B,C", "-o", out) == 2
    assert "the true labels are not known" in capsys.readouterr().err


# ---- files without rows ----


@pytest.mark.parametrize("arguments", [("fit", "FILE", "-o", "c.safetensors"), ("plan", "FILE"), ("evaluate", "FILE")])
@pytest.mark.parametrize("text", ["", "\n\n"])
def test_a_file_without_a_line_has_no_rows(call, capsys, tmp_path, arguments, text):
    (tmp_path / "empty.jsonl").write_text(text)
    assert call(*(tmp_path / "empty.jsonl" if each == "FILE" else each for each in arguments)) == 2
    assert "there are no rows. Check where the file comes from." in capsys.readouterr().err


def test_an_empty_file_of_answers_has_no_records(call, capsys, tmp_path):
    (tmp_path / "empty.jsonl").write_text("")
    assert call("show", tmp_path / "empty.jsonl") == 2
    assert "there are no records" in capsys.readouterr().err
