"""Every format, the parts of a table, and every kind of file that keeps a state, with every kind of damage."""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.attack.numbers import Case
from benchmarks.attack.states import fitted, state_files

ROWS = 60


def damages() -> dict[str, Callable[[bytes], bytes]]:
    """Return what is done to the bytes of a good file, by name, forty of them."""
    found: dict[str, Callable[[bytes], bytes]] = {}
    for share in (0.0, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95, 0.99):
        found[f"cut at {share:g}"] = lambda data, share=share: data[: _inside(data, share)]
    for share in (0.0, 0.001, 0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98, 0.999):
        found[f"byte changed at {share:g}"] = lambda data, share=share: _changed(data, share, 1)
    for share in (0.05, 0.5, 0.95):
        found[f"64 bytes of noise at {share:g}"] = lambda data, share=share: _changed(data, share, 64)
        found[f"64 zeros at {share:g}"] = lambda data, share=share: _put(data, share, bytes(64))
        found[f"stray quote at {share:g}"] = lambda data, share=share: _put(data, share, b'"')
        found[f"line end at {share:g}"] = lambda data, share=share: _put(data, share, b"\n")
    found["all zeros"] = lambda data: bytes(len(data))
    found["all noise"] = lambda data: np.random.default_rng(0).bytes(len(data))
    found["form feed first"] = lambda data: b"\x0c" + data
    found["line separator first"] = lambda data: "\u2028".encode() + data
    found["byte order mark first"] = lambda data: b"\xef\xbb\xbf" + data
    found["UTF-16"] = lambda data: data.decode("latin-1").encode("utf-16")
    found["halves swapped"] = lambda data: data[len(data) // 2 :] + data[: len(data) // 2]
    found["without its first byte"] = lambda data: data[1:]
    found["a web page"] = lambda data: b"<!doctype html><title>404</title>"
    return found


def _inside(data: bytes, share: float) -> int:
    """Return a place that is not between two lines, where no reader of text can see that something is missing."""
    place = int(len(data) * share)
    while place < len(data) and data[place - 1 : place + 1].strip() != data[place - 1 : place + 1]:
        place += 1
    return place


def _put(data: bytes, share: float, more: bytes) -> bytes:
    place = int(len(data) * share)
    return data[:place] + more + data[place:]


def _changed(data: bytes, share: float, length: int) -> bytes:
    place = min(int(len(data) * share), len(data) - length)
    noise = bytes(byte ^ 0x55 for byte in data[place : place + length])
    return data[:place] + noise + data[place + length :]


def cases() -> Iterator[tuple[str, Case]]:
    """Give the attacks on every format, on the parts of a table, and on every kind of file that keeps a state."""
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        for ending, data in good_files(here).items():
            for name, damage in damages().items():
                yield f"{ending}: {name}", lambda e=ending, d=data, f=damage: _read(here, e, f(d))
        good = scored_parts(here / "parts")
        for name, damage in damages().items():
            yield f"a part: {name}", lambda f=damage: _read_parts(here / "damaged", good, "a.csv", f)
            yield f"the manifest: {name}", lambda f=damage: _score_again(here / "again", good, f)
        for what, (data, load) in state_files(here).items():
            for name, damage in damages().items():
                yield f"{what}: {name}", lambda d=data, f=damage, load=load: load(_put_at(here / "state", f(d)))


def good_files(folder: Path) -> dict[str, bytes]:
    """Return a file of each format, by its extension; a new format must be added here."""
    from auxcal.tables import FORMATS

    rng = np.random.default_rng(0)
    z = rng.normal(size=(ROWS, 3)).astype(np.float32)
    y = rng.integers(3, size=ROWS)
    np.save(folder / "y.npy", y)
    lines = (f'{k},{a},{b},{c},"row {i}"' for i, (k, (a, b, c)) in enumerate(zip(y, z, strict=True)))
    text = "y,logit_0,logit_1,logit_2,id\n" + "\n".join(lines) + "\n"
    rows = [{"logits": row, "y": int(k)} for row, k in zip(z.tolist(), y, strict=True)]
    writers: dict[str, Callable[[Path], Any]] = {
        ".csv": lambda path: path.write_text(text),
        "-": lambda path: path.write_text(text),
        ".jsonl": lambda path: path.write_text("".join(f"{json.dumps(row)}\n" for row in rows)),
        ".npz": lambda path: np.savez(path, logits=z, y=y),
        ".npy": lambda path: np.save(path, z),
        ".safetensors": lambda path: _save_safetensors(path, z, y),
        ".parquet": lambda path: _save_parquet(path, z, y),
        ".pt": lambda path: _save_torch(path, z, y),
        ".pth": lambda path: _save_torch(path, z, y),
    }
    found = {}
    for ending in FORMATS:
        path = folder / f"good{ending}"
        writers[ending](path)
        found[ending] = path.read_bytes()
    return found


def _save_safetensors(path: Path, z: Any, y: Any) -> None:
    from safetensors.numpy import save_file

    save_file({"logits": z, "y": y}, path)


def _save_parquet(path: Path, z: Any, y: Any) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table({"y": y} | {f"logit_{k}": z[:, k] for k in range(3)}), path)


def _save_torch(path: Path, z: Any, y: Any) -> None:
    import torch

    torch.save({"logits": torch.tensor(z), "y": torch.tensor(y)}, path)


def _put_at(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def read(folder: Path, ending: str, data: bytes) -> Any:
    """Return the predictions of a file with these bytes; "-" is standard input."""
    from auxcal.tables import read_predictions

    if ending != "-":
        path = _put_at(folder / f"damaged{ending}", data)
        return read_predictions(*([path, folder / "y.npy"] if ending == ".npy" else [path]))
    with _put_at(folder / "standard", data).open("rb") as file, io.TextIOWrapper(file) as text:
        before, sys.stdin = sys.stdin, text
        try:
            return read_predictions("-")
        finally:
            sys.stdin = before


def _read(folder: Path, ending: str, data: bytes) -> str:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = read(folder, ending, data)
    return "fine" if len(found) >= ROWS or caught else "lost"


def scored_parts(folder: Path) -> Path:
    """Return a folder of scored parts with their manifest."""
    from auxcal.tables import score_table

    folder.mkdir()
    data = good_files(folder)[".csv"]
    for path in folder.iterdir():
        path.unlink()
    for name in ("a.csv", "b.csv"):
        (folder / name).write_bytes(data)
    score_table(fitted(), folder, out=folder.with_name("scored"))
    return folder.with_name("scored")


def _read_parts(folder: Path, good: Path, name: str, damage: Callable[[bytes], bytes]) -> str:
    from auxcal.tables import read_predictions

    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(good, folder)
    (folder / name).write_bytes(damage((good / name).read_bytes()))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = read_predictions(folder)
    return "fine" if len(found) >= 2 * ROWS or caught else "lost"


def _score_again(folder: Path, good: Path, damage: Callable[[bytes], bytes]) -> str:
    from auxcal.tables import read_predictions, score_table

    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(good, folder)
    record = folder / "_auxcal.json"
    record.write_bytes(damage(record.read_bytes()))
    score_table(fitted(), good.with_name("parts"), out=folder)
    return "fine" if len(read_predictions(folder)) == 2 * ROWS else "lost"


os.environ.setdefault("SOURCE_DATE_EPOCH", "0")  # so that a file is the same in every process
