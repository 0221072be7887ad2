"""Writing: whole or not at all, all or none, and only over files."""

from __future__ import annotations

import errno
import os
import socket
import stat
import sys
from pathlib import Path

import pytest

from costframe.core import files
from costframe.core.errors import CostModelError
from costframe.core.files import TargetError, check_target, open_atomically, write_atomically, write_together
from costframe.core.prices.costs import CostModel


def occupied(folder, kind):
    """Put something that is no file at a place; return the place."""
    place = folder / "place"
    if kind == "a directory":
        place.mkdir()
    elif kind == "a pipe":
        os.mkfifo(place)
    elif kind == "a socket":
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(os.path.relpath(place))  # the whole path may be too long for a socket
    else:
        place.symlink_to("nowhere")
    return place


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pipes and sockets in folders")
@pytest.mark.parametrize("kind", ["a directory", "a pipe", "a socket", "a link to nothing"])
def test_what_is_no_file_stays(tmp_path, kind, monkeypatch):
    monkeypatch.chdir(tmp_path)
    place = occupied(tmp_path, kind)
    before = place.lstat()
    for write in (check_target, lambda path: write_atomically(path, b"new")):
        with pytest.raises(TargetError) as caught:
            write(place)
        assert caught.value.strerror == f"is {kind}, expected a file"
        assert caught.value.filename == str(place)
    after = place.lstat()
    assert (stat.S_IFMT(after.st_mode), after.st_ino) == (stat.S_IFMT(before.st_mode), before.st_ino)
    assert list(tmp_path.iterdir()) == [place]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pipes in folders")
def test_a_pipe_behind_a_link_stays(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    with pytest.raises(TargetError, match="is a pipe") as caught:
        write_atomically(tmp_path / "link", b"new")
    assert caught.value.filename == str(tmp_path / "link")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_callers_make_it_their_own_error(tmp_path):
    (tmp_path / "prices.toml").mkdir()
    with pytest.raises(CostModelError, match=r"prices\.toml: cannot be written: is a directory, expected a file$"):
        CostModel.uniform(["a"]).save(tmp_path / "prices.toml")


def test_a_link_stays_a_link_and_a_mode_stays(tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "real").chmod(0o640)
    (tmp_path / "link").symlink_to("real")
    write_atomically(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"
    assert stat.S_IMODE((tmp_path / "real").stat().st_mode) == 0o640


def test_errors_name_the_target_and_not_the_file_beside_it(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        write_atomically(tmp_path / "none" / "file", b"new")
    assert caught.value.filename == str(tmp_path / "none" / "file")
    assert ".tmp" not in str(caught.value)


@pytest.mark.parametrize("failing", ["fsync", "replace"])
def test_a_failing_disk_leaves_the_old_files(tmp_path, monkeypatch, failing):
    def full(*_arguments):
        raise OSError(28, "No space left on device", "somewhere.tmp")

    (tmp_path / "a").write_bytes(b"old")
    monkeypatch.setattr(*((files.os, "fsync") if failing == "fsync" else (Path, "replace")), full)
    with pytest.raises(OSError, match="No space left") as caught:
        write_together({tmp_path / "a": b"new", tmp_path / "b": b"new"})
    assert caught.value.filename == str(tmp_path / "a")
    assert list(tmp_path.iterdir()) == [tmp_path / "a"]
    assert (tmp_path / "a").read_bytes() == b"old"


def test_one_that_cannot_be_written_keeps_all_as_they_were(tmp_path):
    (tmp_path / "a").write_bytes(b"old")
    (tmp_path / "c").mkdir()
    with pytest.raises(TargetError) as caught:
        write_together({tmp_path / "a": b"new", tmp_path / "b": b"new", tmp_path / "c": b"new"})
    assert caught.value.filename == str(tmp_path / "c")
    assert (tmp_path / "a").read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "c"]


def test_none_takes_its_place_before_all_are_whole(tmp_path, monkeypatch):
    seen = []

    (tmp_path / "a").write_bytes(b"old")
    (tmp_path / "b").write_bytes(b"old")
    monkeypatch.setattr(files.os, "fsync", lambda _file: seen.append([(tmp_path / n).read_bytes() for n in "ab"]))
    write_together({tmp_path / "a": b"new", tmp_path / "b": b"newer"})
    assert seen == [[b"old", b"old"]] * 2
    assert [(tmp_path / name).read_bytes() for name in "ab"] == [b"new", b"newer"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_what_is_written_piece_by_piece_takes_its_place_at_the_end(tmp_path):
    (path := tmp_path / "long").write_bytes(b"old")
    path.chmod(0o640)
    with open_atomically(path) as file:
        file.write(b"ne")
        file.write(b"w")
        assert path.read_bytes() == b"old"
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"new", 0o640)
    with pytest.raises(KeyboardInterrupt), open_atomically(path) as file:  # noqa: PT012 - it is interrupted in between
        file.write(b"half")
        raise KeyboardInterrupt
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]
    full = OSError(errno.ENOSPC, "No space left on device")  # as pyarrow raises it, without a name
    with pytest.raises(OSError, match=f"No space left on device: '{path}'"), open_atomically(path):
        raise full
    with pytest.raises(FileNotFoundError, match="none/long"), open_atomically(tmp_path / "none" / "long"):
        pass
