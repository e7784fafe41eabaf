"""A folder of part files, scored in four engines: each hands Arrow batches to auxcal.arrow.score.

None of them needs code of this library beyond that function. Bad rows, here one with NaN, get null.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import daft
import dask
import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

import auxcal


# <polars>
def score_in_polars(folder, calibrator, out):
    """Stream the folder, and write one file."""

    def score(part):
        table = part.to_arrow()
        scores = auxcal.arrow.score(table, calibrator)
        return pl.from_arrow(scores.beside(table.drop_columns("logits")))

    rows = pl.scan_parquet(folder / "*.parquet")
    added = {"prediction": pl.Int64, "confidence": pl.Float32}
    schema = rows.drop("logits").collect_schema() | added
    rows.map_batches(score, schema=schema, streamable=True).sink_parquet(out)


# </polars>


# <duckdb>
def score_in_duckdb(folder, calibrator, out):
    """Make a function of SQL."""

    def score(logits):
        return auxcal.arrow.score(logits, calibrator).as_structs()

    kind = "STRUCT(prediction BIGINT, confidence FLOAT)"
    with duckdb.connect() as db:
        db.create_function(
            "score", score, ["FLOAT[]"], kind, type="arrow", null_handling="special"
        )
        columns = "* EXCLUDE (logits), unnest(score(logits))"
        scored = f"SELECT {columns} FROM '{folder}/*.parquet'"
        db.sql(f"COPY ({scored}) TO '{out}' (FORMAT parquet)")


# </duckdb>


# <daft>
def score_in_daft(folder, calibrator, out):
    """Make a function of a column."""
    kind = daft.DataType.struct(
        {"prediction": daft.DataType.int64(), "confidence": daft.DataType.float32()}
    )

    @daft.udf(return_dtype=kind)
    def score(logits):
        return auxcal.arrow.score(logits.to_arrow(), calibrator).as_structs()

    rows = daft.read_parquet(f"{folder}/*.parquet").with_column(
        "scores", score(daft.col("logits"))
    )
    scores = {name: daft.col("scores")[name] for name in ("prediction", "confidence")}
    rows.with_columns(scores).exclude("logits", "scores").write_parquet(str(out))


# </daft>


# <dask>
def score_in_dask(folder, calibrator, out):
    """Score each file in a process of its own."""

    def score(path):
        table = pq.read_table(path)
        scores = auxcal.arrow.score(table, calibrator)
        scored = scores.beside(table.drop_columns("logits"))
        pq.write_table(scored, out / path.name)

    parts = [dask.delayed(score)(path) for path in sorted(folder.glob("*.parquet"))]
    dask.compute(parts, scheduler="processes", num_workers=2)


# </dask>


def write_rows(folder, logits, y):
    """Write part files; one row has NaN."""
    for part in range(4):
        rows = np.arange(len(y))[part::4]
        lists = [*logits[rows[:-1]].tolist(), [float("nan")] * 3]
        pq.write_table(
            pa.table(
                {
                    "id": rows,
                    "logits": pa.array(lists, pa.list_(pa.float32())),
                    "y": y[rows],
                }
            ),
            folder / f"{part}.parquet",
        )


def main():
    """Score the same folder in each."""
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(4000, 3), scale=3).astype(np.float32)
    y = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    calibrator = auxcal.TemperatureScaling().fit(logits[:2000], y[:2000])
    with TemporaryDirectory() as work:
        folder = Path(work) / "rows"
        folder.mkdir()
        write_rows(folder, logits, y)
        for score in (score_in_polars, score_in_duckdb, score_in_daft, score_in_dask):
            out = Path(work) / score.__name__
            if score is score_in_dask:
                out.mkdir()
            score(folder, calibrator, out)
            table = pq.read_table(out)
            known = table.filter(table["confidence"].is_valid())
            correct = np.equal(known["prediction"].to_numpy(), known["y"].to_numpy())
            brier = auxcal.evaluate(
                known["confidence"].to_numpy(), correct, metrics=["brier"]
            )["brier"]
            print(
                f"{score.__name__:16} {len(table)} rows, {table['confidence'].null_count} bad, Brier {brier:.4f}"
            )


if __name__ == "__main__":
    main()
