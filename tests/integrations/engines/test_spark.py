"""A real local Spark, started once. Where there is no Java the tests are skipped, unless AUXCAL_SPARK is "required"."""

import os
import shutil
import sys

import numpy as np
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as sql

import auxcal
from auxcal import InvalidInputError

pytestmark = [
    pytest.mark.xdist_group("spark"),
    pytest.mark.skipif(
        shutil.which("java") is None and os.environ.get("AUXCAL_SPARK") != "required",
        reason="needs Java (apt-get install openjdk-17-jre-headless)",
    ),
]


@pytest.fixture(scope="module")
def spark(patience):
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2,4]").appName("auxcal")
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.network.timeout": f"{patience}s",
        "spark.python.authenticate.socketTimeout": f"{patience}s",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def df(spark, rows):
    return spark.read.parquet(str(rows.folder))


@pytest.fixture(scope="module")
def scored(df, rows):
    return auxcal.spark.score(df, rows.calibrator, keep_inputs=False).cache()


def test_score_gives_what_predict_confidence_gives(scored, rows):
    assert scored.columns == ["id", "y", "group", "prediction", "confidence"]
    assert dict(scored.dtypes)["confidence"] == "float"
    rows.check(scored.toArrow())


def test_inputs_are_kept_and_old_scores_replaced(df, rows):
    again = auxcal.spark.score(df.withColumnRenamed("y", "confidence"), rows.file, names=False)
    assert again.columns == ["id", "logits", "group", "prediction", "confidence"]
    assert dict(again.dtypes)["prediction"] == "bigint"


def test_columns_of_an_earlier_scoring_are_not_kept(df, rows):
    old = df.withColumn("accepted", sql.lit(True)).withColumn("proba_cat", sql.lit(0.5)).withColumn("own", sql.lit(1))
    again = auxcal.spark.score(old, rows.calibrator)
    assert again.columns == ["id", "logits", "y", "group", "own", "prediction", "confidence"]
    rows.check(again.toArrow())


def test_the_udf_gives_the_same_also_in_sql(spark, df, rows):
    spark.udf.register("auxcal_score", auxcal.spark.udf(rows.calibrator))
    df.createOrReplaceTempView("rows")
    rows.check(spark.sql("SELECT id, scored.* FROM (SELECT id, auxcal_score(logits) AS scored FROM rows)").toArrow())


def test_a_killed_worker_is_replaced_and_nothing_is_lost(df, rows, dies_once, tmp_path):
    dying = df.mapInArrow(lambda batches: map(dies_once, batches), df.schema)
    auxcal.spark.score(dying, rows.calibrator).write.parquet(str(tmp_path / "out"))
    assert (tmp_path / "died").exists()
    rows.check(df.sparkSession.read.parquet(str(tmp_path / "out")).toArrow())


def test_a_stratified_sample_has_the_size_and_the_shares(df, rows):
    drawn = auxcal.spark.sample(df, 300, label="y", random_state=1).toArrow()
    names, counts = np.unique(drawn["y"].to_pylist(), return_counts=True)
    share = [(rows.y == name).mean() for name in names]
    assert np.abs(counts - 300 * np.array(share)).max() <= 0.5
    assert len(set(drawn["id"].to_pylist())) == len(drawn)
    assert auxcal.spark.sample(df, 20).count() == 20


def test_mistakes_are_known_before_a_job_starts(df, rows):
    with pytest.raises(InvalidInputError, match="logit_0"):
        auxcal.spark.score(df.drop("logits"), rows.calibrator)
    with pytest.raises(InvalidInputError, match="whole number"):
        auxcal.spark.sample(df, 0)


def test_signals_with_gaps_and_text_are_scored(spark, answers):
    df = spark.createDataFrame(answers.table)
    scored = auxcal.spark.score(df, answers.calibrator).cache()
    assert scored.columns == ["id", "verbal", "words", "topic", "right", "confidence"]
    answers.check(scored.toArrow())
    assert auxcal.spark.score(df, answers.calibrator, keep_inputs=False).columns == ["id", "right", "confidence"]
    with pytest.raises(InvalidInputError, match="this calibrator takes signals"):
        auxcal.spark.udf(answers.calibrator)
    with pytest.raises(InvalidInputError, match="there is no column 'topic'"):
        auxcal.spark.score(df.drop("topic"), answers.calibrator)
