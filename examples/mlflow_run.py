"""Log a comparison to MLflow: the metrics of every method, the best calibrator and the report. Needs mlflow."""

import tempfile
from pathlib import Path

import mlflow
import numpy as np

import auxcal

rng = np.random.default_rng(0)
y = np.where(
    rng.random(3000) < 0.2, auxcal.NO_CLASS, rng.integers(4, size=3000)
)  # a fifth is none of the classes
logits = 3 * (
    np.vstack([np.eye(4), np.zeros((1, 4))])[y] + rng.normal(size=(3000, 4)) / 2
)

with tempfile.TemporaryDirectory() as folder:
    mlflow.set_tracking_uri(
        f"sqlite:///{folder}/mlflow.db"
    )  # local files, or your server
    artifacts = Path(folder, "artifacts").as_uri()
    mlflow.create_experiment("calibration", artifact_location=artifacts)
    mlflow.set_experiment("calibration")

    comparison = auxcal.compare(
        auxcal.Predictions(logits, y), methods=["temperature", "platt", "ccac-x"]
    )
    with mlflow.start_run(run_name="compare") as run:
        mlflow.log_params({"rows": comparison.n_fit, "best": comparison.best.method})
        for entry in (
            comparison.entries
        ):  # auroc, ece, brier and the others, with their intervals
            mlflow.log_metrics(
                {
                    f"{entry.method}/{name}": value
                    for name, value in entry.scores.items()
                }
            )
        comparison.best.calibrator.save(Path(folder, "calibrator.safetensors"))
        comparison.save_report(Path(folder, "report.html"))
        for name in ("calibrator.safetensors", "report.html"):
            mlflow.log_artifact(str(Path(folder, name)))

    # Later, where predictions are served: the calibrator of that run.
    kept = mlflow.get_run(run.info.run_id)
    path = mlflow.artifacts.download_artifacts(
        run_id=run.info.run_id, artifact_path="calibrator.safetensors"
    )
    confidence = auxcal.load(path).predict_confidence(logits[:3])
    brier = kept.data.metrics["ccac-x/brier"]
    print(f"best: {kept.data.params['best']}; Brier score of CCAC-X {brier:.3f}")
    print(f"confidence in the first predictions: {confidence.round(2)}")
