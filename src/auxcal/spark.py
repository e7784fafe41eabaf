"""Scores of Spark's DataFrames: Spark partitions, retries and writes; a worker scores Arrow batches.

Workers need this library and the driver's version of Python: set the environment variable ``PYSPARK_PYTHON``, or
``spark.pyspark.python``, before the session starts.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from auxcal._core.errors import InvalidInputError
from auxcal._core.extras import needs
from auxcal.calibrators import Calibrator

with needs("spark"):
    import pyarrow as pa
    import pyspark.sql.functions as sql
    from pyspark.sql import Column, DataFrame, Window
    from pyspark.sql import types as spark_types
    from pyspark.sql.pandas.types import from_arrow_type, to_arrow_schema

    from auxcal.arrow import PackedScorer
    from auxcal.tables.columns import check_column
    from auxcal.tables.spec import CONFIDENCE, PREDICTION

__all__ = ["sample", "score", "udf"]


def score(
    df: DataFrame,
    calibrator: Calibrator | str | os.PathLike[str],
    *,
    columns: str | Sequence[str] | None = None,
    features: str | Sequence[str] | None = None,
    probabilities: bool | None = None,
    names: bool = True,
    keep_inputs: bool = True,
) -> DataFrame:
    """Return a DataFrame with the columns `prediction` and `confidence`; they are null for a row that can't be scored.

    Where the calibrator takes signals, there is no prediction, and a gap is no reason for null.

    All columns pass through Python, by `mapInArrow`: select what you need first. This is the quickest way, with
    `keep_inputs=False` above all.

    Parameters
    ----------
    df : DataFrame
        With a column `logits` of lists, or the columns that the calibrator was fitted on.
    calibrator : Calibrator or path
        A fitted one, or its file, which the driver reads.
    columns, features, probabilities, names
        As in `auxcal.arrow.score`.
    keep_inputs : bool
        Keep the columns of the logits and the features.

    Returns
    -------
    DataFrame
    """
    scorer = PackedScorer.of(
        calibrator, columns, features, probabilities=probabilities, names=names, keep_inputs=keep_inputs
    )
    given = to_arrow_schema(df.schema)
    empty = scorer.add_to(given.empty_table())  # so that a wrong column is known here, and the types of the others too
    new = (CONFIDENCE,) if scorer.calibrator.takes_signals else (PREDICTION, CONFIDENCE)
    kept = [name for name in empty.column_names if name not in new]
    schema = spark_types.StructType([field for field in df.schema if field.name in kept])
    for name in new:
        schema = schema.add(name, from_arrow_type(empty.schema.field(name).type))

    def scored(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return map(scorer.add_to, batches)

    return df.mapInArrow(scored, schema)


def udf(
    calibrator: Calibrator | str | os.PathLike[str], *, probabilities: bool | None = None, names: bool = True
) -> Any:
    """Return a function of a column of lists of logits, and of one of features if the calibrator needs them.

    It gives structs with `prediction` and `confidence`, both null for a row that can't be scored. Register
    it for SQL: ``spark.udf.register("auxcal_score", udf(calibrator))``. It needs Spark 4.1; `score` does not, and is
    quicker.

    Parameters
    ----------
    calibrator : Calibrator or path
        A fitted one, or its file, which the driver reads.
    probabilities, names
        As in `auxcal.arrow.score`.
    """
    arrow_udf = getattr(sql, "arrow_udf", None)
    if arrow_udf is None:
        raise InvalidInputError("udf needs Spark 4.1 or newer. Use auxcal.spark.score, which any Spark 3.5 runs too.")
    scorer = PackedScorer.of(calibrator, probabilities=probabilities, names=names)
    if scorer.calibrator.takes_signals:
        raise InvalidInputError(
            "udf takes a column of logits, and this calibrator takes signals. Use auxcal.spark.score."
        )
    named = names and scorer.calibrator.inputs_.class_names
    kind = pa.struct([(PREDICTION, pa.string() if named else pa.int64()), (CONFIDENCE, pa.float64())])

    def scored(logits: pa.Array, features: pa.Array = None) -> pa.Array:
        return scorer.score(logits, features).as_structs().cast(kind)

    return arrow_udf(scored, from_arrow_type(kind))


def sample(df: DataFrame, n: int, *, label: str | None = None, random_state: int = 0) -> DataFrame:
    """Return `n` rows drawn at random, stratified by the label where one is given: enough to fit a calibrator.

    Of each class as many rows are drawn as its share of the rows with a label, and one at least. A sample of 30,000 to
    100,000 rows gives what millions give.

    Parameters
    ----------
    df : DataFrame
        The rows.
    n : int
        How many are drawn.
    label : str, optional
        The column of the true classes; rows without are left out.
    random_state : int
        The source of the draw.
    """
    if not isinstance(n, int) or n < 1:
        raise InvalidInputError(f"n must be a whole number of at least 1; got {n!r}. Use 50_000.")
    if label is None:
        return df.orderBy(sql.rand(random_state)).limit(n)
    check_column(df.columns, label, "Name the column of the true classes with label.")
    labelled = df.where(sql.col(label).isNotNull())
    counts = {row[label]: row["count"] for row in labelled.groupBy(label).count().collect()}
    share = min(1.0, n / max(sum(counts.values()), 1))
    wanted = {name: max(1, round(share * count)) for name, count in counts.items()}
    # A few more than wanted are drawn without a shuffle, and of these alone the surplus is taken away.
    ample = {name: min(1.0, (k + 6 * k**0.5 + 6) / counts[name]) for name, k in wanted.items()}
    drawn = labelled.sampleBy(label, ample, seed=random_state)
    order = Window.partitionBy(label).orderBy(sql.rand(random_state))
    ranked = drawn.withColumn(_RANK, sql.row_number().over(order))
    return ranked.where(sql.col(_RANK) <= _looked_up(wanted, label)).drop(_RANK)


_RANK = "auxcal rank"


def _looked_up(numbers: dict[Any, int], label: str) -> Column:
    pairs = [sql.lit(each) for pair in numbers.items() for each in pair]
    return sql.create_map(*pairs)[sql.col(label)] if pairs else sql.lit(0)
