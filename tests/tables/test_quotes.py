"""Quotes and the ends of lines in CSV: read as they are meant wherever a block ends, or an error that has the line."""

import pytest

from auxcal import FileFormatError
from auxcal.tables import batches
from auxcal.tables.readers import open_source


@pytest.mark.parametrize(
    ("rows", "read"),
    [
        ('1,"a"\n2,"b ""c"""\n', ["a", 'b "c"']),
        ("1,a\r\n2,b", ["a", "b"]),
        ("1,a\r2,b\r", ["a", "b"]),
        ('1,"a\nb"\n2,""\n', ["a\nb", ""]),
        ('1,5" pipe\n2,x"y"z\n', ['5" pipe', 'x"y"z']),
        ('"1","a\nb"\n"2","\n\nc"\n', ["a\nb", "\n\nc"]),
        ('1,"a\n,\nb"\n2,"\n,\n"\n', ["a\n,\nb", "\n,\n"]),
        ('1,5" pipe\n2,"a\n"\n3,b\n', ['5" pipe', "a\n", "b"]),
        ('1,5" pipe\n,\n,\n', ['5" pipe']),
        ('1,a\r2,"b\r3,c\r', "Row #3: a quote is opened there and not closed where a field ends"),
        ("1,a\r,\r2,b\r", "Row #3: nothing in any column"),
        ("1,a\r2\r", "Row #3: Expected 2 columns, got 1"),
        ("1,a\r\n2\r\n", "Row #3: Expected 2 columns, got 1"),
        ('1,"a"b\n2,c\n', "Row #2: a quote is opened there and not closed where a field ends"),
        ('1,a\n2,"b\n3,c\n', "Row #3: a quote is opened there and not closed where a field ends"),
    ],
)
@pytest.mark.parametrize("batch_bytes", [2, 20, 2**20])
def test_quotes_are_read_as_they_are_meant_or_named(rows, read, batch_bytes, tmp_path, monkeypatch):
    monkeypatch.setattr(batches, "BATCH_BYTES", batch_bytes)
    path = tmp_path / "a.csv"
    path.write_bytes(f"logit_0,id\n{rows}".encode())
    with open_source(path) as source:
        if isinstance(read, str):
            with pytest.raises(FileFormatError, match=read):
                list(source.batches([], ["id"]))
            return
        found = [value for batch in source.batches([], ["id"]) for value in batch["id"].to_pylist()]
    assert found == read
