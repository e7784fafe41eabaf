"""Freeze what the commands give: exit codes, `--json`, and the tables and other files that they write.

    python tests/golden/make_commands.py [CASE ...]

writes `commands.json`, which `tests/cli/test_frozen.py` compares with what the commands give now. Without a name all
cases are made again, so look at the difference before it is committed: behaviour has changed. Times and versions are
not frozen, nor is what a fit has learned: what users see of it are the confidences. Everything goes through the command
line: nothing here knows how the library is cut.
"""

import contextlib
import csv
import hashlib
import io
import json
import math
import os
import re
import shlex
import struct
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

FROZEN = Path(__file__).parent / "commands.json"
CLASSES = ("cat", "dog", "bird")
N_FIT, N_NEW = 200, 60
UNSTEADY = {"library", "version", "modified", "written", "bytes", "size", "fit_seconds"}
"""Keys of versions, of times, and of what a file system says."""
COMPUTED = ("confidence", "proba")
DECIMALS = 8
"""Columns that begin so, or have more decimals than the data, are summed up; others are the same everywhere."""
DIGITS = 6
"""What is kept of a float: less than the tolerance, so that a difference shows behaviour."""
DIGEST = 8
"""How many characters of a digest are kept: of some thousand things, no two that differ have the same by chance."""


class Case(NamedTuple):
    """Commands that run one after the other in a folder of their own, and the extras that they need.

    `Monitor CALIBRATOR OUT FILE ...` is no command: see `watch`.
    """

    steps: tuple[str, ...]
    needs: tuple[str, ...] = ()


# ---- the data ----


def make_rows(n, seed, *, shares=None, scale=1.0):
    """Return columns by name: every kind that a command may be told of, with values that are missing or bad."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(4, size=n, p=shares or (0.35, 0.32, 0.28, 0.05))
    signal = np.vstack([4.0 * np.eye(3), np.full((1, 3), 0.5)])[kind]
    logits = (scale * (signal + rng.normal(size=(n, 3), scale=1.4))).astype(np.float32).round(3)
    y = np.where(kind == 3, -1, kind)
    hard = rng.random(n)
    features = np.column_stack([hard, rng.integers(5, 50, size=n)]).astype(np.float32).round(3)
    y = np.where((hard > 0.95) & (y >= 0), (y + 1) % 3, y)
    odds = np.exp(logits.astype(float) - logits.max(axis=1, keepdims=True))
    return {
        "logits": logits,
        "y": y,
        "features": features,
        "proba": (odds / odds.sum(axis=1, keepdims=True)).round(6),
        "w": rng.integers(1, 4, size=n),
        "patient": np.array([f"p{row // 3}" for row in range(n)]),
        "site": np.where(rng.random(n) < 0.3, "north", "south"),
        "day": 17 + np.arange(n) * 4 // n,
    }


def make_table(rows, *, bad=False, labelled=0.9):
    """Return rows as columns of a table, with names as labels; the first rows are good."""
    n = len(rows["y"])
    truth = [None if row % 10 >= 10 * labelled else ("fox", *CLASSES)[label + 1] for row, label in enumerate(rows["y"])]
    texts = ("plain", 'said "so"', "a, b", "two\nlines", "ümläut 🦉", "", None)
    table = {
        "id": [f"r{row:04d}" for row in range(n)],
        "text": [texts[row % len(texts)] for row in range(n)],
        **{name: rows["logits"][:, place].astype(float).round(3).tolist() for place, name in enumerate(CLASSES)},
        **{f"p_{name}": rows["proba"][:, place].tolist() for place, name in enumerate(CLASSES)},
        "width": rows["features"][:, 0].astype(float).round(3).tolist(),
        "height": rows["features"][:, 1].astype(float).tolist(),
        "truth": truth,
        "index": [str(label) for label in rows["y"]],
        "w": rows["w"].tolist(),
        "patient": rows["patient"].tolist(),
        "site": [None if row % 17 == 3 else site for row, site in enumerate(rows["site"].tolist())],
        "day": [f"2026-11-{day}" for day in rows["day"]],
    }
    if bad:
        table["cat"][11], table["p_cat"][11] = math.nan, math.nan
        table["dog"][12], table["p_dog"][12] = None, None
        table["bird"][13], table["p_bird"][13] = math.inf, 7.0
        table["width"][14] = math.nan
    return table


def write_csv(path, table):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        for row in zip(*table.values(), strict=True):
            writer.writerow(["" if value is None else value for value in row])


def write_parquet(path, table):
    import pyarrow
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.table(table), path, row_group_size=37)


def write_lists(path, rows):
    """Write a parquet file with the logits and the features in one list column each, and y as an index."""
    import pyarrow
    import pyarrow.parquet

    columns = {name: pyarrow.array(rows[name].tolist()) for name in ("logits", "features", "y", "day", "site")}
    pyarrow.parquet.write_table(pyarrow.table(columns), path)


def arrays_of(rows, *, bad=False):
    logits = rows["logits"].copy()
    if bad:
        logits[11, 0], logits[13, 2] = np.nan, np.inf
    groups = np.arange(len(logits)) // 3
    return {
        "logits": logits,
        "y": rows["y"],
        "features": rows["features"],
        "proba": rows["proba"],
        "sample_weight": rows["w"].astype(float),
        "groups": groups,
        "day": rows["day"],
        "id": np.arange(len(logits)) + 1000,
    }


def write_arrays(path, arrays):
    if path.suffix == ".npz":
        np.savez(path, **arrays)
    elif path.suffix == ".safetensors":
        from safetensors.numpy import save_file

        save_file(arrays, path)
    elif path.suffix == ".pt":
        import torch

        torch.save({name: torch.from_numpy(array) for name, array in arrays.items()}, path)
    else:
        for name in ("logits", "y"):
            np.save(path.with_name(f"{path.stem}-{name}.npy"), arrays[name])


DATA = {
    "fit": {"n": N_FIT, "seed": 1},
    "new": {"n": N_NEW, "seed": 2},
    "test": {"n": 150, "seed": 3},
    "mix": {"n": 150, "seed": 4, "shares": (0.02, 0.08, 0.85, 0.05)},
    "odd": {"n": 150, "seed": 5, "scale": 0.2},
}
NEARLY = {
    name: {"n": 150, "seed": seed, "shares": (0.25, 0.27, 0.43, 0.05)}
    for name, seed in {"doubt": 22, "near": 31}.items()
}
"""Mixes that are seen at one level and not at the next: `check` sees both, `score`, which is quieter, the second."""


def write_data(folder, ending):
    """Write all data in one format; `bad` is `new` with rows that can't be scored."""
    sets = {name: make_rows(**options) for name, options in DATA.items()}
    for name, rows in (sets | {"bad": sets["new"]}).items():
        path, bad = folder / f"{name}{ending}", name == "bad"
        if ending in (".csv", ".parquet"):
            write, table = write_csv if ending == ".csv" else write_parquet, make_table(rows, bad=bad)
            write(path, {column: values for column, values in table.items() if not column.startswith("p_")})
            if name == "fit":
                for each, options in NEARLY.items():
                    table_of_it = make_table(make_rows(**options))
                    write(folder / f"{each}{ending}", {column: table_of_it[column] for column in CLASSES})
            if name in ("fit", "bad"):
                chosen = ("id", *(f"p_{each}" for each in CLASSES), "truth")
                write(folder / f"{name}-proba{ending}", {column: table[column] for column in chosen})
        elif ending == "-lists.parquet":
            write_lists(path, rows)
        elif ending.startswith("-parts"):
            write_parts(folder / name, ending.removeprefix("-parts"), make_table(rows, bad=bad))
        else:
            write_arrays(path, arrays_of(rows, bad=bad))


def write_parts(folder, ending, table):
    """Write some columns of a table as parts below folders of the column `shift`; one has no rows."""
    table = {name: table[name] for name in ("id", *CLASSES, "truth", "site")}
    n = len(table["id"])
    for place, name in enumerate(("shift=a/part-0", "shift=a/part-1", "shift=b/part-0", "shift=b/part-1")):
        part = slice(place * n // 3, (place + 1) * n // 3)
        path = folder / f"{name}{ending}"
        path.parent.mkdir(parents=True, exist_ok=True)
        (write_csv if ending == ".csv" else write_parquet)(
            path, {column: values[part] for column, values in table.items()}
        )


def write_quirks(folder):
    """Write CSV files as spreadsheets and other programs do, and such as must be refused."""
    write_csv(folder / "fit.csv", make_table(make_rows(N_FIT, 1)))
    logits = make_rows(24, 6)["logits"].astype(float).round(3).tolist()
    head = ["id", "flag", "when", "big", "price", "note", *CLASSES, "truth"]
    notes = ("NA", "null", " spaced ", "", "nan", "1_000", "#N/A", "TRUE")
    labels = ("cat", "dog", " bird ", "fox", "", "NA", "n/a", "nan", "NULL")
    rows = [
        [
            f"{row:03d}",
            ("true", "FALSE", "")[row % 3],
            f"2026-11-{row + 1:02d} 08:00",
            str(10**19 + row),
            f"{row}.50",
            notes[row % len(notes)],
            *map(str, logits[row]),
            labels[row % len(labels)],
        ]
        for row in range(24)
    ]
    spelled = {3: " 1.5", 4: "2e0", 5: "+3", 6: "-0.0", 7: "1e-7", 8: ".5", 9: "7."}
    missing = {12: "", 13: "NA", 14: "N/A", 15: "null", 16: "nan", 17: "NaN", 18: "-inf", 19: "#N/A"}
    for row, value in (spelled | missing).items():
        rows[row][6 + row % 3] = value

    def lines(*, delimiter=",", quoted=False, comma=False, rows=rows):
        written = [[value.replace(".", ",") if comma else value for value in row] for row in rows]
        mark = '"' if quoted else ""
        return [delimiter.join(f"{mark}{value}{mark}" for value in line) for line in (head, *written)]

    plain = lines()
    texts = {
        "plain": "\n".join(plain) + "\n",
        "unended": "\n".join(plain),
        "spreadsheet": "\ufeff" + "\r\n".join(plain) + "\r\n" + "," * (len(head) - 1) + "\r\n\r\n",
        "quoted": "\n".join(lines(quoted=True)) + "\n",
        "semicolon": "\n".join(lines(delimiter=";", comma=True)) + "\n",
        "tab": "\n\n" + "\n".join(lines(delimiter="\t")) + "\n",
        "spaced": "\n".join([plain[0].replace(",", ", "), *plain[1:]]) + "\n",
        "header": plain[0] + "\n",
        "empty": "",
        "ragged": "\n".join([*plain[:9], plain[9] + ",more", *plain[10:]]) + "\n",
        "gap": "\n".join([*plain[:9], "," * (len(head) - 1), *plain[9:]]) + "\n",
        "word": "\n".join([*plain[:9], plain[9].replace("2026", "2027").replace(f",{rows[8][6]},", ",cat,")]) + "\n",
        "underscore": "\n".join(plain).replace(f",{rows[1][6]},", ",1_000,") + "\n",
        "stray": "\n".join([*plain[:9], '"' + plain[9], *plain[10:]]) + "\n",
        "twice": "\n".join(plain).replace("flag", "id", 1) + "\n",
    }
    for name, text in texts.items():
        (folder / f"{name}.csv").write_bytes(text.encode())
    (folder / "latin.csv").write_bytes("\n".join(plain).replace("spaced", "größer").encode("latin-1"))


def write_types(folder):
    """Write parquet files whose columns have every kind of type, and the logits in every form."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    write_csv(folder / "fit.csv", make_table(make_rows(N_FIT, 1)))
    rows = make_rows(8, 7)
    logits = rows["logits"]
    others = {
        "date": pa.array([*range(20774, 20781), None], pa.int32()).cast(pa.date32()),
        "when": pa.array([row * 1000 for row in range(7)] + [None], pa.timestamp("ms", "UTC")),
        "whole": pa.array([2**53 + row for row in range(7)] + [None], pa.int64()),
        "small": pa.array(range(8), pa.uint8()),
        "half": pa.array(np.linspace(0, 1, 8).astype(np.float16)),
        "single": pa.array([0.1, None, *[0.3] * 6], pa.float32()),
        "whether": pa.array([True, False, None] * 2 + [True, True]),
        "kind": pa.array(["a", "b", None, "a"] * 2).dictionary_encode(),
        "text": pa.array(["", None, "a,b", "ü"] * 2, pa.large_string()),
        "truth": pa.array(["cat", None, "fox", "dog"] * 2).dictionary_encode(),
    }
    forms = {
        "single": {name: pa.array(logits[:, place]) for place, name in enumerate(CLASSES)},
        "whole": {name: pa.array(logits[:, place].astype(int)) for place, name in enumerate(CLASSES)},
        "nulls": {
            name: pa.array([None if row == place + 1 else z for row, z in enumerate(logits[:, place].tolist())])
            for place, name in enumerate(CLASSES)
        },
        "text": {name: pa.array([str(z) for z in logits[:, place].tolist()]) for place, name in enumerate(CLASSES)},
    }
    for name, columns in forms.items():
        pq.write_table(pa.table(columns | others), folder / f"{name}.parquet")
    bad = [None, [1.0, 2.0], [1.0, None, 3.0], [1.0, math.nan, 3.0], *logits[4:].tolist()]
    for name, kind in {"list": pa.list_(pa.float32()), "large": pa.large_list(pa.float64())}.items():
        pq.write_table(pa.table({"logits": pa.array(bad, kind)} | others), folder / f"{name}.parquet")
    fixed = pa.FixedSizeListArray.from_arrays(pa.array(logits.ravel()), 3)
    pq.write_table(pa.table({"logits": fixed} | others), folder / "fixed.parquet")


# ---- the cases ----

NAMED = "--columns cat,dog,bird --label truth --no-class fox"
OF_NAMES = "--label truth --no-class fox"


def of_table(e, other):
    """Return the steps for a table with names, in the format `e`; `other` is one that is written too."""
    return (
        f"fit fit{e} {NAMED} -o x.safetensors --json",
        f"fit bad{e} {NAMED} -o no.safetensors",
        f"fit bad{e} {NAMED} --on-bad-rows skip -o skip.safetensors --method platt --json",
        f"fit fit{e} {NAMED} --features width,height --weight w --group patient -o f.safetensors --json",
        f"fit fit{e} {NAMED} --method temperature --sample 90 --random-state 3 -o t.safetensors --json",
        f"fit fit-proba{e} --columns p_cat,p_dog,p_bird --class-names cat,dog,bird --probabilities --label truth "
        f"--unknown-is-no-class --method beta -o p.safetensors --json",
        f"fit fit{e} --columns cat,dog,bird --label index --select new{e} -o index.safetensors --json",
        f"fit fit{e} --columns cat,dog,bird --label truth -o no.safetensors",
        f"fit fit{e} --label truth -o no.safetensors",
        "show x.safetensors --json",
        "show p.safetensors --json",
        "show f.safetensors --json",
        f"score x.safetensors new{e} -o scored{e} --json",
        f"score x.safetensors new{e} -o scored{e} --json",
        f"score x.safetensors bad{e} -o bad-scored{e} --json",
        f"score x.safetensors bad{e} --on-bad-rows skip --proba -o bad-scored{other} --json",
        f"score x.safetensors bad{e} --on-bad-rows fail -o no{e} --json",
        f"score f.safetensors bad{e} --proba -o f-scored{e} --json",
        f"score f.safetensors new{e} --features height,width -o f-other.npz --json",
        f"score t.safetensors new{e} --proba -o t-scored{other} --json",
        f"score p.safetensors bad-proba{e} -o p-scored{e} --json",
        f"score x.safetensors new{e} --columns bird,cat,dog --label index -o renamed{e} --json",
        f"score index.safetensors new{e} -o index-scored{other} --json",
        f"score x.safetensors new{e} -o numbers.safetensors --json",
        f"score x.safetensors fit{e} -o in-fit{e} --json",
        f"score x.safetensors odd{e} -o odd-scored.npz --json",
        f"score x.safetensors doubt{e} -o doubt.npz --json",
        f"score x.safetensors near{e} -o near.npz --json",
        f"check x.safetensors doubt{e} --json",
        f"score t.safetensors bad{e}",
        f"score x.safetensors test{e} -o test-scored{e} --json",
        f"score index.safetensors test{e} -o test-index{e} --json",
        f"evaluate test-scored{e} --calibrator x.safetensors --json",
        f"evaluate test-scored{e} {OF_NAMES} --by day --resamples 0 --json",
        f"evaluate test-scored{e} {OF_NAMES} --weight w --group patient --by site --resamples 20 --json",
        f"evaluate test-scored{e} --label truth --unknown-is-no-class --resamples 0 --json",
        f"evaluate test-scored{e} --label truth --class-names cat,dog,bird --json",
        f"evaluate test-scored{e} {OF_NAMES} --unlabelled scored{e} --json",
        f"evaluate test-index{e} --label index --resamples 0 --json",
        f"evaluate bad-scored{e} {OF_NAMES} --resamples 0 --json",
        f"threshold test-scored{e} --calibrator x.safetensors --risk 0.3 --json",
        f"threshold test-scored{e} {OF_NAMES} --risk 0.01 --risk 0.25 --risk 0.4 --json",
        f"threshold test-scored{e} {OF_NAMES} --coverage 0.5 --level 0.9 --json",
        f"threshold test-scored{e} {OF_NAMES} --risk 0.3 --per-class --json",
        f"threshold test-scored{e} {OF_NAMES} --risk 0.1 --empirical --json",
        f"threshold test-scored{e} {OF_NAMES} --risk 0.4 --weight w --max-weight 3 --json",
        f"threshold test-scored{e} {OF_NAMES} --risk 0.4 --group patient --json",
        f"threshold test-scored{e} {OF_NAMES} --risk 0.35 --sample 60 --random-state 1 --json",
        f"threshold test-scored{e} {OF_NAMES} --risk 0.001 --json",
        f"threshold in-fit{e} {OF_NAMES} --risk 0.3 --json",
        f"threshold test-scored{e} --risk 0.3 --save x.safetensors --json",
        "show x.safetensors --json",
        f"score x.safetensors bad{e} -o accepted{e} --json",
        f"score x.safetensors mix{e} -o mix-accepted{e} --json",
        f"check x.safetensors test{e} --json",
        f"check x.safetensors mix{e} --level 0.01 --json",
        f"check x.safetensors odd{e} --json",
        f"check x.safetensors bad{e} --json",
        f"check x.safetensors bad{e} --on-bad-rows skip --json",
        f"check f.safetensors test{e} --json",
        f"check t.safetensors test{e} --json",
        f"adapt x.safetensors mix{e} -o adapted.safetensors --json",
        f"adapt x.safetensors mix{e} --labelled test{e} -o adapted-too.safetensors --json",
        f"adapt x.safetensors odd{e} -o no.safetensors --json",
        f"adapt x.safetensors odd{e} --if-new warn -o adapted-new.safetensors --json",
        f"score adapted.safetensors new{e} -o adapted-scored{e} --json",
        f"check x.safetensors test{e} --by day --json",
        f"monitor x.safetensors test{e} --by day --no-class fox --json",
        f"monitor x.safetensors odd{e} --by day --no-class fox --tolerance 0.02 --level 0.1 --json",
        f"monitor t.safetensors mix{e} --by w --label truth --unknown-is-no-class --json",
        f"pick x.safetensors test{e} --n 15 -o picked{e} --json",
        f"pick test{e} --columns cat,dog,bird --n 10 --random-state 2 -o picked-too{other} --json",
        f"pick x.safetensors bad{e} --n 10 -o no{e} --json",
        f"pick x.safetensors bad{e} --n 10 --on-bad-rows skip -o picked-bad{e} --json",
        f"plan test-scored{e} --accuracy-within 0.05 {OF_NAMES} --json",
        f"plan scored{e} --pilot test-scored{e} {OF_NAMES} --risk 0.3 --coverage 0.4 --json",
        f"plan new{e} --columns cat,dog,bird --accuracy-within 0.1 --json",
        f"compare fit{e} {NAMED} --methods temperature,platt --by site --id id --weight w --out report --json",
        f"compare fit{e} {NAMED} --methods ccac-x,histogram --features width,height --group patient --test test{e} "
        f"--out report-too --json",
    )


def to_parquet():
    """Return the steps that write parquet from CSV; the others of a CSV file are those of the case `csv`."""
    steps = of_table(".csv", ".parquet")
    return tuple(step for step in steps if step.startswith("fit ") or ".parquet" in step)


def of_arrays(e, *, pair=False):
    """Return the steps for arrays by name, or for a pair of files."""

    def file(name):
        return f"{name}-logits.npy {name}-y.npy" if pair else f"{name}{e}"

    steps = (
        f"fit {file('fit')} -o x.safetensors --json",
        f"fit {file('bad')} -o no.safetensors",
        f"fit {file('bad')} --on-bad-rows skip --method isotonic -o i.safetensors --json",
        f"fit {file('fit')} --class-names cat,dog,bird --method temperature --sample 90 -o t.safetensors --json",
        "show x.safetensors --json",
        "show t.safetensors --json",
        f"score x.safetensors {file('bad')} --proba -o scored.csv --json",
        f"score t.safetensors {file('bad')} --on-bad-rows skip -o scored.npz --json",
        f"score x.safetensors {file('test')} -o test-scored.npz --json",
        f"score x.safetensors {file('fit')} -o in-fit.npz --json",
        "evaluate test-scored.npz --resamples 20 --json",
        "threshold test-scored.npz --risk 0.3 --json",
        "threshold test-scored.npz --risk 0.3 --per-class --json",
        "threshold test-scored.npz --coverage 0.6 --json",
        "threshold in-fit.npz --risk 0.3 --empirical --json",
        f"check x.safetensors {file('test')} --json",
        f"check x.safetensors {file('odd')} --json",
        f"adapt x.safetensors {file('mix')} -o adapted.safetensors --json",
        f"pick x.safetensors {file('test')} --n 10 -o picked.csv --json",
        "plan test-scored.npz --accuracy-within 0.05 --json",
        f"compare {file('fit')} --methods temperature,vector --out report --json",
    )
    named = (
        f"fit fit{e} --probabilities --weight sample_weight --group groups --method platt -o p.safetensors --json",
        f"fit fit{e} --columns logits --features features -o f.safetensors --json",
        f"score p.safetensors new{e} -o p-scored.npz --json",
        f"score f.safetensors new{e} -o f-scored.safetensors --json",
        f"monitor x.safetensors test{e} --by day --json",
        f"monitor x.safetensors odd{e} --by day --json",
        "evaluate test-scored.npz --by day --weight sample_weight --resamples 0 --json",
    )
    return steps if pair else steps + named


def of_parts(e):
    """Return the steps for a table in parts."""
    return (
        f"fit fit {NAMED} -o x.safetensors --json",
        f"fit 'fit/shift=a/*{e}' {NAMED} --method temperature -o a.safetensors --json",
        f"fit fit/shift=a/part-0{e} fit/shift=b/part-0{e} {NAMED} --sample 50 --method platt -o two.safetensors --json",
        "show x.safetensors --json",
        "score x.safetensors new -o scored --json",
        "score x.safetensors new -o scored --json",
        "score a.safetensors new -o scored --json",
        "score a.safetensors bad --proba --on-bad-rows skip -o scored --overwrite --json",
        f"score x.safetensors bad -o one{e} --json",
        "score x.safetensors test -o test-scored --json",
        f"evaluate test-scored {OF_NAMES} --by shift --resamples 20 --json",
        f"evaluate 'test-scored/shift=b/*{e}' {OF_NAMES} --resamples 0 --json",
        f"threshold test-scored {OF_NAMES} --risk 0.3 --json",
        "threshold test-scored --risk 0.3 --save x.safetensors --json",
        "score x.safetensors mix -o mix-scored --json",
        "score x.safetensors odd -o odd.npz --json",
        "check x.safetensors test --json",
        "check x.safetensors 'mix/*/*' --json",
        "adapt x.safetensors mix -o adapted.safetensors --json",
        "monitor x.safetensors test --by shift --no-class fox --json",
        f"pick x.safetensors test --n 12 -o picked{e} --json",
        f"plan test-scored {OF_NAMES} --accuracy-within 0.05 --json",
        f"compare fit {NAMED} --methods temperature --by shift --out report --json",
    )


OF_LISTS = (
    "fit fit-lists.parquet -o x.safetensors --json",
    "fit fit-lists.parquet --features features --method ccac-x -o f.safetensors --json",
    "score x.safetensors new-lists.parquet --proba -o scored.parquet --json",
    "score f.safetensors new-lists.parquet --features features -o scored.npz --json",
    "evaluate scored.parquet --by site --resamples 0 --json",
    "threshold scored.parquet --risk 0.4 --json",
    "check x.safetensors test-lists.parquet --json",
    "monitor x.safetensors test-lists.parquet --by day --json",
    "pick x.safetensors test-lists.parquet --n 10 -o picked.parquet --json",
)
WITH_PROBA = (
    "uncalibrated",
    "temperature",
    "ensemble-temperature",
    "vector",
    "matrix",
    "dirichlet",
    "structured-vector",
    "structured-matrix",
    "ccac-x",
)
METHODS = (*WITH_PROBA, "histogram", "isotonic", "beta", "platt", "scaling-binning", "spline")

READ = ("plain", "unended", "spreadsheet", "quoted", "semicolon", "tab", "spaced")
REFUSED = ("header", "empty", "ragged", "gap", "word", "underscore", "stray", "twice", "latin")
OF_QUIRKS = (
    f"fit fit.csv {NAMED} --method temperature -o t.safetensors --json",
    *(f"score t.safetensors {name}.csv -o {name}-scored.csv --json" for name in (*READ, *REFUSED)),
    "score t.safetensors plain.csv -o plain-scored.npz --json",
    "score t.safetensors spreadsheet.csv --on-bad-rows skip -o spreadsheet-skipped.csv --json",
    f"fit plain.csv {NAMED} --on-bad-rows skip --method temperature -o plain.safetensors --json",
    f"fit semicolon.csv {NAMED} --on-bad-rows skip --method platt --weight price -o semicolon.safetensors --json",
    "pick t.safetensors quoted.csv --on-bad-rows skip --n 5 -o picked.csv --json",
    "check t.safetensors tab.csv --on-bad-rows skip --json",
    f"evaluate plain-scored.csv {OF_NAMES} --resamples 0 --by note --json",
    f"evaluate semicolon-scored.csv {OF_NAMES} --resamples 0 --by flag --json",
    f"threshold quoted-scored.csv {OF_NAMES} --risk 0.5 --empirical --json",
    "monitor t.safetensors plain.csv --by flag --no-class fox --on-bad-rows skip --json",
    "monitor t.safetensors plain.csv --by id --no-class fox --on-bad-rows skip --json",
)
OF_TYPES = (
    f"fit fit.csv {NAMED} --method temperature -o t.safetensors --json",
    *(
        f"score t.safetensors {name}.parquet -o {name}-scored{ending} --json"
        for name in ("single", "whole", "nulls")
        for ending in (".parquet", ".csv")
    ),
    *(
        f"score t.safetensors {name}.parquet --columns logits -o {name}-scored.parquet --json"
        for name in ("list", "large", "fixed")
    ),
    "score t.safetensors list.parquet --columns logits --on-bad-rows skip --proba -o list-scored.csv --json",
    "score t.safetensors text.parquet -o text-scored.parquet --json",
    "pick t.safetensors single.parquet --n 3 -o picked.parquet --json",
    f"evaluate single-scored.parquet {OF_NAMES} --by kind --resamples 0 --json",
    f"evaluate single-scored.parquet {OF_NAMES} --by whether --weight small --resamples 0 --json",
    f"threshold single-scored.parquet {OF_NAMES} --risk 0.5 --empirical --json",
    "monitor t.safetensors single.parquet --by date --no-class fox --json",
    "monitor t.safetensors single.parquet --by whole --no-class fox --json",
)

CASES = {
    "quirks": Case(OF_QUIRKS),
    "types": Case(OF_TYPES, ("tables",)),
    "csv": Case(of_table(".csv", ".npz")),
    "csv to parquet": Case(to_parquet(), ("tables",)),
    "parquet": Case(of_table(".parquet", ".csv"), ("tables",)),
    "lists.parquet": Case(OF_LISTS, ("tables",)),
    "npz": Case(of_arrays(".npz")),
    "npy": Case(of_arrays(".npy", pair=True)),
    "safetensors": Case(of_arrays(".safetensors")),
    "pt": Case(of_arrays(".pt"), ("torch",)),
    "parts.csv": Case(of_parts(".csv")),
    "parts.parquet": Case(of_parts(".parquet"), ("tables",)),
    "pipe": Case(
        (
            f"fit - {NAMED} -o x.safetensors --json < fit.csv",
            "score x.safetensors - < bad.csv",
            "score x.safetensors - -o scored.csv --json < test.csv",
            f"evaluate - {OF_NAMES} --resamples 0 --json < scored.csv",
            f"threshold - {OF_NAMES} --risk 0.3 --json < scored.csv",
            "check x.safetensors - --json < test.csv",
        )
    ),
    "methods": Case(
        (
            "methods --json",
            *(
                step
                for name in METHODS
                for step in (
                    f"fit fit.npz --method {name} --features features -o {name}.safetensors --json"
                    if name == "ccac-x"
                    else f"fit fit.npz --method {name} -o {name}.safetensors --json",
                    f"show {name}.safetensors --json",
                    f"score {name}.safetensors new.npz{' --proba' * (name in WITH_PROBA)} -o {name}.npz --json",
                )
            ),
        )
    ),
    "saved monitors": Case(
        (
            "fit fit.npz -o x.safetensors --json",
            "fit fit.npz --method temperature -o t.safetensors --json",
            "Monitor x.safetensors same.safetensors new.npz test.npz",
            "Monitor x.safetensors odd.safetensors test.npz odd.npz",
            "Monitor t.safetensors mix.safetensors mix.npz",
        )
    ),
    "transfer": Case(
        (
            "fit fit.npz --method ccac-s -o s.safetensors --json",
            "transfer s.safetensors test.npz -o here.safetensors --json",
            "transfer s.safetensors test.npz --select new.npz --weight sample_weight -o there.safetensors --json",
            "show here.safetensors --json",
            "score here.safetensors new.npz --proba -o scored.npz --json",
            "transfer scored.npz test.npz -o no.safetensors --json",
        ),
        ("torch",),
    ),
    "export": Case(
        (
            "fit fit.npz -o x.safetensors --json",
            "fit fit.npz --features features -o f.safetensors --json",
            "export x.safetensors -o x.onnx --json",
            "export f.safetensors -o f.onnx --json",
            "export f.safetensors -o f.txt --json",
        ),
        ("onnx",),
    ),
}
ENDINGS = {
    "csv to parquet": ".csv",
    "lists.parquet": "-lists.parquet",
    "parts.csv": "-parts.csv",
    "parts.parquet": "-parts.parquet",
    "pipe": ".csv",
} | dict.fromkeys(("methods", "saved monitors", "transfer", "export"), ".npz")


OWN_DATA = {"quirks": write_quirks, "types": write_types}


# ---- running a case ----


def run_case(name, folder):
    """Run a case in a folder, and return what each step gave."""
    found, before = [], {}
    os.environ["SOURCE_DATE_EPOCH"] = "1800000000"  # calibrators say when they were fitted
    with contextlib.chdir(folder):
        if name in OWN_DATA:
            OWN_DATA[name](folder)
        else:
            write_data(folder, ENDINGS.get(name, f".{name}"))
        changed_files(folder, before)
        for step in CASES[name].steps:
            code, said = watch(*step.split()[1:]) if step.startswith("Monitor ") else call(step)
            given = {"step": step, "exit": code}
            if step.endswith("--json") or "--json <" in step or step.startswith("Monitor "):
                given["json"] = steady(json.loads(said)) if said.strip() else None
            elif step.startswith("score ") and " -o " not in step and code == 0:
                given["output"] = summary(csv_columns(said.decode()))
            files = {
                path.relative_to(folder).as_posix(): observed(path)
                for path in changed_files(folder, before)
                if path.suffix not in (".html", ".png")  # the page needs an extra, and is for people
            }
            found.append(given | ({"files": files} if files else {}))
    return found


def call(step):
    """Run one command in this process; return its exit code and what it printed."""
    from auxcal import cli

    command, _, source = step.partition(" < ")
    out, err, given = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8"), sys.argv
    standard = sys.stdin
    sys.argv = ["auxcal", *shlex.split(command)]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            if source:
                sys.stdin = Path(source).open(encoding="utf-8")  # noqa: SIM115 (closed below)
            cli.main()
        code = 0
    except SystemExit as end:
        code = end.code or 0
    finally:
        if source:
            sys.stdin.close()
        sys.argv, sys.stdin = given, standard
    out.flush()
    return code, out.buffer.getvalue()


def watch(calibrator, out, *files):
    """Let a monitor see rows, some of whose labels come late, and save it: no command does so, and its file stays."""
    import auxcal

    fitted = auxcal.load(calibrator)
    monitor = auxcal.Monitor(fitted)
    for file in files:
        with np.load(file) as arrays:
            logits, y, features = (arrays[name] for name in ("logits", "y", "features"))
        early, late = slice(len(y) // 2), slice(len(y) // 2, None)
        known = [features[half] if fitted.n_further_features_ else None for half in (early, late)]
        rows = monitor.update(logits[early], features=known[0])
        monitor.update(logits[late], y[late], known[1])
        monitor.label(rows[::2], y[early][::2])
    monitor.save(out)
    return 0, json.dumps([alarm.kind for alarm in monitor.alarms]).encode()


def changed_files(folder, before):
    """Return the files that are new or other than before, and remember them."""
    now = {path: digest(path.read_bytes()) for path in sorted(folder.rglob("*")) if path.is_file()}
    changed = [path for path, seen in now.items() if before.get(path) != seen]
    before.clear()
    before.update(now)
    return changed


def digest(data):
    return hashlib.sha256(data).hexdigest()[:DIGEST]


def steady(value):
    """Return JSON without what may differ from one run to the next."""
    if isinstance(value, dict):
        return {name: steady(each) for name, each in value.items() if name not in UNSTEADY}
    if isinstance(value, list):
        return [steady(each) for each in value]
    if isinstance(value, str):
        return re.sub("[0-9a-f]{64}", "SHA-256", value)  # of what was learned, for instance
    return plain(value)


def fields(value):
    """Return the state of a calibrator or a monitor without the numbers that were learned."""
    if isinstance(value, dict):
        return "array" if list(value) == ["tensor"] else {name: fields(each) for name, each in value.items()}
    if isinstance(value, list):
        return (
            "floats" if value and all(isinstance(each, float) for each in value) else [fields(each) for each in value]
        )
    return "float" if isinstance(value, float) else value


def observed(path):
    """Return what a written file holds, by its kind."""
    if path.name.startswith("."):
        return "hidden"
    if path.suffix == ".csv":
        return summary(csv_columns(path.read_text(encoding="utf-8")))
    if path.suffix == ".parquet":
        import pyarrow.parquet

        table = pyarrow.parquet.read_table(path, partitioning=None)
        return summary({each.name: (str(each.type), table[each.name].to_pylist()) for each in table.schema})
    if path.suffix == ".npz":
        with np.load(path) as arrays:
            return summary({name: typed(array) for name, array in arrays.items()})
    if path.suffix == ".safetensors":
        metadata, arrays = safetensors_of(path.read_bytes())
        if not metadata:
            return summary({name: typed(array) for name, array in arrays.items()})
        (state,) = map(json.loads, metadata.values())
        return {"metadata": fields(steady(state)), "tensors": {name: str(each.dtype) for name, each in arrays.items()}}
    if path.suffix == ".onnx":
        import onnx

        return {"nodes": [each.op_type for each in onnx.load(path).graph.node]}
    if path.suffix == ".json":
        return steady(json.loads(path.read_text()))
    return "written"


def safetensors_of(data):
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    kinds = {"F16": "<f2", "BOOL": "?"} | {
        f"{letter}{8 * n}": f"<{letter.lower()}{n}" for letter in "FIU" for n in (4, 8)
    }
    kinds |= {f"{letter}{8 * n}": f"<{letter.lower()}{n}" for letter in "IU" for n in (1, 2)}
    metadata, arrays = header.pop("__metadata__", {}), {}
    for name in sorted(header):
        begin, end = (8 + length + place for place in header[name]["data_offsets"])
        arrays[name] = np.frombuffer(data[begin:end], kinds[header[name]["dtype"]]).reshape(header[name]["shape"])
    return metadata, arrays


def csv_columns(text):
    head, *rows = csv.reader(io.StringIO(text, newline=""))
    return {name: ("text", [row[place] for row in rows]) for place, name in enumerate(head)}


def typed(array):
    kind = str(array.dtype) if array.ndim == 1 else f"{array.dtype} × {array.shape[1:]}"
    return kind, array.tolist()


def summary(table):
    """Return a table as the type, the length and the first two values of each column, and what all of them come to."""
    return {
        name: {"type": kind, "rows": len(values), "first": plain(values[:2])}
        | (
            numbers(values)
            if name.startswith(COMPUTED) or was_computed(values)
            else {"all": digest(line(plain(values)).encode())}
        )
        for name, (kind, values) in table.items()
        if name not in UNSTEADY
    }


def was_computed(values):
    """Whether any number has more decimals than those of the data."""
    found = np.array([number_of(each) for value in values for each in np.ravel(value)])
    return bool(np.any(np.abs(found - found.round(DECIMALS)) > 1e-15 * np.abs(found)))


def numbers(values):
    """Return the quartiles of all numbers, how many rows have none, and the means of thirds, which tell their order."""
    rows = np.array([[number_of(each) for each in np.ravel(value)] for value in values], float)
    known = rows[~np.isnan(rows)]
    if not len(known):
        return {"none": len(rows)}
    thirds = [float(np.nanmean(part)) if np.isfinite(part).any() else None for part in np.array_split(rows, 3)]
    quartiles = np.quantile(known, np.linspace(0, 1, 5)).tolist()
    return {"none": int(np.isnan(rows).any(axis=1).sum()), "quartiles": plain(quartiles), "thirds": plain(thirds)}


def number_of(value):
    """Return the finite number that a value, or its text, is; NaN where it is none."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return math.nan
    return number if math.isfinite(number) else math.nan


def plain(value):
    """Return a value as JSON can hold it, with as many digits of floats as are kept."""
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else str(value)
    return value if isinstance(value, str | int | None) else str(value)


def read():
    """Return what is frozen: the steps of each case with all that they gave."""
    return json.loads(FROZEN.read_text(encoding="utf-8"))


def write(frozen):
    """Write what is frozen with a line for each step, for a readable diff."""
    cases = (f"{line(name)}:[\n" + ",\n".join(map(line, steps)) + "\n]" for name, steps in frozen.items())
    FROZEN.write_text("{\n" + ",\n".join(cases) + "\n}\n", encoding="utf-8")


def line(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def main(names):
    """Make the cases that are named, or all."""
    frozen = read() if names else {}
    for name in names or CASES:
        with tempfile.TemporaryDirectory() as folder:
            frozen[name] = run_case(name, Path(folder).resolve())
        sys.stdout.write("\n".join([name, *(f"  {each['exit']} {each['step']}" for each in frozen[name])]) + "\n")
    write(frozen)


if __name__ == "__main__":
    main(sys.argv[1:])
