"""Files are written whole, never onto what is read, and keep what they are."""

import os
import signal
import stat
import threading

import pytest

from auxcal import FileFormatError, FileWriteError, InvalidInputError
from auxcal._core import files as _files
from auxcal._core.files import (
    as_path,
    atomic_write,
    atomic_writes,
    check_apart,
    check_regular,
    check_writable,
    local_path,
    read_text,
)


def temporaries_of(folder):
    return [path for path in folder.iterdir() if path.name.endswith(".part")]


def write(path, text="new"):
    with atomic_write(path) as temporary:
        temporary.write_text(text)


def write_together(paths):
    with atomic_writes(paths) as temporaries:
        for temporary in temporaries:
            temporary.write_text("new")


def test_a_link_is_followed(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "there" / "file")
    write(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "there" / "file").read_text() == "new"


def test_a_file_keeps_its_mode(tmp_path):
    (tmp_path / "file").touch(mode=0o600)
    write(tmp_path / "file")
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o600


def test_a_new_file_has_the_mode_that_the_umask_leaves(tmp_path):
    before = os.umask(0o027)
    try:
        write(tmp_path / "file")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640


def fifo(path):
    os.mkfifo(path)


def loop(path):
    path.symlink_to(path)


def into_nowhere(path):
    path.symlink_to(path.parent / "no folder" / "file")


@pytest.mark.parametrize("make", [fifo, loop, into_nowhere, os.mkdir])
def test_what_is_no_file_is_not_replaced(make, tmp_path):
    make(tmp_path / "file")
    before = os.lstat(tmp_path / "file")
    with pytest.raises(InvalidInputError):
        write(tmp_path / "file")
    assert os.lstat(tmp_path / "file").st_ino == before.st_ino
    assert not temporaries_of(tmp_path)


@pytest.mark.parametrize("make", [fifo, loop, into_nowhere, os.mkdir])
def test_what_is_no_file_is_not_read(make, tmp_path):
    make(tmp_path / "file")
    with pytest.raises((InvalidInputError, FileNotFoundError)):
        check_regular(tmp_path / "file")


def _fail(path, error):
    path.write_text("new")
    raise error


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_of_several_files_all_are_replaced_or_none(error, tmp_path):
    paths = [tmp_path / name for name in ("a", "b")]
    for path in paths:
        path.write_text("old")
    with pytest.raises(error), atomic_writes(paths) as (first, _):
        _fail(first, error)
    assert [path.read_text() for path in paths] == ["old", "old"]
    assert not temporaries_of(tmp_path)
    with atomic_writes(paths) as both:
        for path in both:
            path.write_text("new")
    assert [path.read_text() for path in paths] == ["new", "new"]


CALLS = {"open": os.open, "close": os.close, "chmod": os.chmod, "fsync": os.fsync, "replace": os.replace}


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("call", CALLS)
def test_whichever_call_fails_nothing_is_changed_and_nothing_stays(call, place, tmp_path, monkeypatch):
    paths = [tmp_path / name for name in ("a", "b", "c")]
    for path in paths[:2]:
        path.write_text("old")
    calls = []

    def fails(*arguments, **options):
        CALLS[call](*arguments, **options) if call == "close" else None
        calls.append(arguments)
        if len(calls) == place + 1:
            raise OSError(5, "Input/output error")
        return None if call == "close" else CALLS[call](*arguments, **options)

    monkeypatch.setattr(os, call, fails)
    with pytest.raises(FileWriteError, match=r"can't be written \(Input/output error\), so what was there is unch"):
        write_together(paths)
    monkeypatch.undo()
    assert {path.name for path in tmp_path.iterdir()} == {"a", "b"}
    assert [path.read_text() for path in paths[:2]] == ["old", "old"]
    write_together(paths)
    assert [path.read_text() for path in paths] == ["new", "new", "new"]


def test_what_can_not_be_put_back_is_kept(tmp_path, monkeypatch):
    paths, replace = [tmp_path / name for name in ("a", "b")], os.replace
    for path in paths:
        path.write_text("old")

    def fails(source, target):
        if calls:
            raise OSError(5, "Input/output error")
        calls.append(source)
        replace(source, target)

    calls = []
    monkeypatch.setattr(os, "replace", fails)
    with pytest.raises(FileWriteError, match="can't be written"):
        write_together(paths)
    (kept,) = temporaries_of(tmp_path)
    assert kept.read_text() == "old"


def test_an_error_of_something_else_stays_what_it_is(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"), atomic_write(tmp_path / "file"):
        (tmp_path / "nowhere").read_text()
    with pytest.raises(BrokenPipeError), atomic_write(tmp_path / "file"):
        raise BrokenPipeError(32, "Broken pipe")
    with (
        pytest.raises(FileWriteError, match=rf"^{tmp_path / 'file'}: can't be written \(No space left"),
        atomic_write(tmp_path / "file") as outer,
        atomic_write(outer),
    ):
        raise OSError(28, "No space left on device")
    assert not list(tmp_path.iterdir())


def test_a_signal_waits_until_all_are_replaced(tmp_path, monkeypatch):
    paths, replace = [tmp_path / name for name in ("a", "b")], type(tmp_path).replace
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # an engine in this process may have its own

    def interrupted(self, target):
        signal.raise_signal(signal.SIGINT)
        return replace(self, target)

    monkeypatch.setattr(type(tmp_path), "replace", interrupted)
    with pytest.raises(KeyboardInterrupt), atomic_writes(paths):
        pass
    assert all(path.exists() for path in paths)
    assert signal.signal(signal.SIGINT, before) is signal.default_int_handler


def test_a_signal_waits_until_what_tries_a_folder_is_removed(tmp_path, monkeypatch):
    before, remove = signal.signal(signal.SIGINT, signal.default_int_handler), _files._remove

    def interrupted(*paths):
        signal.raise_signal(signal.SIGINT)
        remove(*paths)

    monkeypatch.setattr(_files, "_remove", interrupted)
    with pytest.raises(KeyboardInterrupt):
        check_writable(tmp_path / "file")
    assert not list(tmp_path.iterdir())
    assert signal.signal(signal.SIGINT, before) is signal.default_int_handler


def test_other_threads_write_too(tmp_path):
    thread = threading.Thread(target=write, args=[tmp_path / "file"])
    thread.start()
    thread.join()
    assert (tmp_path / "file").read_text() == "new"


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_the_same_file_by_another_name_is_not_written_onto(link, tmp_path):
    (tmp_path / "data").touch()
    link(tmp_path / "data", tmp_path / "other")
    with pytest.raises(InvalidInputError, match="would replace a file that is read"):
        check_apart(tmp_path / "other", [tmp_path / "data"])
    check_apart(tmp_path / "new", [tmp_path / "data"])


@pytest.mark.parametrize("before", ["file://", "FILE://", "local://", "file://localhost"])
def test_a_url_of_this_machine_is_a_path(before, tmp_path):
    assert local_path(f"{before}{tmp_path}/a%20b.csv") == tmp_path / "a b.csv"


def test_a_name_has_no_null_character():
    with pytest.raises(InvalidInputError, match="null character"):
        as_path("a\0b")


def test_text_in_another_encoding_is_one_sentence(tmp_path):
    (tmp_path / "names.txt").write_bytes("Käfer".encode("latin-1"))
    with pytest.raises(FileFormatError, match="expected text in UTF-8"):
        read_text(tmp_path / "names.txt")
