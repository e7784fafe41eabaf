"""--metrics: what the parser of Prometheus reads is what the command found."""

import json

import numpy as np
import pytest

import auxcal

parser = pytest.importorskip("prometheus_client.parser")
openmetrics = pytest.importorskip("prometheus_client.openmetrics.parser")


def drawn(n, *, foreign=0.3, random_state=0):
    rng = np.random.default_rng(random_state)
    y = np.where(rng.random(n) < foreign, -1, rng.integers(3, size=n))
    peak = 3 * np.vstack([np.eye(3), np.zeros((1, 3))])[y]
    return (peak + rng.normal(size=(n, 3))).astype(np.float32), y


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("metrics")
    auxcal.CCACX(random_state=0).fit(*drawn(1500, random_state=9)).save(folder / "fitted.safetensors")
    for name, foreign in {"same": 0.3, "mix": 0.8}.items():
        logits, y = drawn(800, foreign=foreign, random_state=1)
        np.savez(folder / f"{name}.npz", logits=logits, y=y, day=np.repeat(["monday", 'tues"day\\'], 400))
    return folder


def numbers(path):
    """Return what both parsers of Prometheus read, by name and further labels."""
    text = path.read_text()
    families = [list(read(text)) for read in (parser.text_string_to_metric_families, text_string)]
    old, new = ([(s.name, s.labels, s.value) for family in each for s in family.samples] for each in families)
    assert old == new
    assert all(family.type == "gauge" and family.documentation for family in families[1])
    common = {"command", "calibrator"}
    assert {labels["calibrator"] for _, labels, _ in old} == {"fitted"}
    return {(name, *(labels[key] for key in sorted(labels.keys() - common))): value for name, labels, value in old}


def text_string(text):
    return openmetrics.text_string_to_metric_families(text)


def test_check_writes_what_it_found(folder, call, capsys, tmp_path):
    out = tmp_path / "auxcal.prom"
    assert call("check", folder / "fitted.safetensors", folder / "mix.npz", "--metrics", out, "--json") == 3
    said, found = json.loads(capsys.readouterr().out), numbers(out)
    assert found["auxcal_rows",] == 800
    assert found["auxcal_mean_confidence_ratio",] == said["confidence"]
    ends = {"": "value", "_low": "low", "_high": "high"}
    for what, key in {"estimated_accuracy": "accuracy", "ood": "no_class"}.items():
        assert {name: found[f"auxcal_{what}{end}_ratio",] for end, name in ends.items()} == said[key]
    assert [found["auxcal_verdict", each] for each in ("same", "mix", "new", "few")] == [0, 1, 0, 0]
    assert found["auxcal_p_value_ratio", "mix"] == said["p_mix"]
    assert found["auxcal_last_run_timestamp_seconds",] > 1.7e9
    assert call("check", folder / "fitted.safetensors", folder / "same.npz", "--metrics", out) == 0  # replaces its own
    assert numbers(out)["auxcal_verdict", "same"] == 1


def test_check_by_a_column_writes_each_slice_whatever_its_name(folder, call, tmp_path):
    out = tmp_path / "auxcal.prom"
    call("check", folder / "fitted.safetensors", folder / "same.npz", "--by", "day", "--metrics", out)
    found = numbers(out)
    assert {name[1] for name in found if name[0] == "auxcal_rows"} == {"monday", 'tues"day\\'}


def test_monitor_writes_the_last_chunk_and_the_evidence_of_all_runs(folder, call, capsys, tmp_path):
    out, state = tmp_path / "auxcal.prom", tmp_path / "monitor.state"
    options = ("--state", state, "--metrics", out, "--json")
    assert call("monitor", folder / "fitted.safetensors", folder / "same.npz", *options) == 0
    capsys.readouterr()
    assert call("monitor", folder / "fitted.safetensors", folder / "mix.npz", *options) == 4  # labels say so too
    said, found = json.loads(capsys.readouterr().out), numbers(out)
    assert (found["auxcal_rows",], found["auxcal_seen_rows",], found["auxcal_seen_labels",]) == (800, 1600, 1600)
    assert found["auxcal_measured_accuracy_ratio",] == said["chunks"][-1]["measured"]["value"]
    assert found["auxcal_evidence_ratio", "data"] == pytest.approx(said["evidence"]["data"])
    assert found["auxcal_alarm", "data"] == any(alarm["kind"] == "data" for alarm in said["alarms"])
    assert found["auxcal_evidence_alarm_ratio",] == pytest.approx(20)
    out.unlink()  # as if the run had been killed before it wrote: the next one makes it good
    assert call("monitor", folder / "fitted.safetensors", folder / "mix.npz", *options) == 4
    again = numbers(out)
    assert again.pop(("auxcal_rows",)) == 0  # of this run: a feed without rows must not look healthy
    assert {name: value for name, value in again.items() if "timestamp" not in name[0]} == {
        name: value
        for name, value in found.items()
        if name[0] not in ("auxcal_rows", "auxcal_last_run_timestamp_seconds")
    }


@pytest.mark.parametrize("out", ["scored.csv", "scored"])
def test_score_writes_rows_confidence_and_verdict(out, folder, call, tmp_path):
    metrics = tmp_path / "auxcal.prom"
    assert (
        call("score", folder / "fitted.safetensors", folder / "same.npz", "-o", tmp_path / out, "--metrics", metrics)
        == 0
    )
    found = numbers(metrics)
    confidence = auxcal.load(folder / "fitted.safetensors").predict_confidence(np.load(folder / "same.npz")["logits"])
    assert found["auxcal_rows",] == 800
    assert found["auxcal_mean_confidence_ratio",] == pytest.approx(confidence.mean(), abs=1e-4)
    assert found["auxcal_bad_rows",] == 0
    assert found["auxcal_verdict", "same"] == 1
    assert 0 < found["auxcal_estimated_accuracy_low_ratio",] < found["auxcal_estimated_accuracy_high_ratio",] < 1


def test_what_is_no_metrics_file_is_refused_and_kept(folder, call, capsys, tmp_path):
    files = folder / "fitted.safetensors", folder / "same.npz"
    assert call("check", *files, "--metrics", tmp_path / "auxcal.txt") == 2
    assert "--metrics writes a .prom file" in capsys.readouterr().err
    (tmp_path / "node.prom").write_text("node_load1 0.5\n")
    assert call("check", *files, "--metrics", tmp_path / "node.prom") == 2
    assert "this file is there already" in capsys.readouterr().err
    assert (tmp_path / "node.prom").read_text() == "node_load1 0.5\n"


def test_few_rows_have_no_verdict(folder, call, tmp_path):
    np.savez(tmp_path / "few.npz", logits=drawn(5)[0])
    out = tmp_path / "auxcal.prom"
    call("score", folder / "fitted.safetensors", tmp_path / "few.npz", "-o", tmp_path / "few.csv", "--metrics", out)
    assert numbers(out)["auxcal_verdict", "few"] == 1
