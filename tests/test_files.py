"""Writing: whole or not at all, all or none, and only over files."""

from __future__ import annotations

import errno
import os
import socket
import stat
import sys
from pathlib import Path

import pytest

from costframe import CostModel
from costframe.core import files
from costframe.core.files import TargetError, open_atomically, resolve_target, write_atomically, write_together
from costframe.plugin import CostModelError


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pipes and sockets in folders")
@pytest.mark.parametrize("kind", ["a directory", "a pipe", "a socket", "a link to nothing", "a pipe behind a link"])
def test_what_is_no_file_stays(tmp_path, kind, monkeypatch):
    monkeypatch.chdir(tmp_path)
    place = tmp_path / "place"
    if kind == "a directory":
        place.mkdir()
    elif kind == "a pipe":
        os.mkfifo(place)
    elif kind == "a socket":
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("place")  # the whole path may be too long for a socket
    else:
        place.symlink_to("pipe")
        _ = kind == "a link to nothing" or os.mkfifo("pipe")
    before, content = place.lstat(), sorted(tmp_path.iterdir())
    for write in (resolve_target, lambda path: write_atomically(path, b"new")):
        with pytest.raises(TargetError) as caught:
            write(place)
        assert caught.value.strerror == f"is {kind.removesuffix(' behind a link')}, expected a file"
        assert caught.value.filename == str(place)
    after = place.lstat()
    assert (stat.S_IFMT(after.st_mode), after.st_ino) == (stat.S_IFMT(before.st_mode), before.st_ino)
    assert sorted(tmp_path.iterdir()) == content


def test_a_link_stays_a_link_a_mode_stays_and_errors_name_the_target(tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "real").chmod(0o640)
    (tmp_path / "link").symlink_to("real")
    write_atomically(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"
    assert stat.S_IMODE((tmp_path / "real").stat().st_mode) == 0o640
    with pytest.raises(FileNotFoundError) as caught:
        write_atomically(tmp_path / "none" / "file", b"new")
    assert caught.value.filename == str(tmp_path / "none" / "file")
    (tmp_path / "prices.toml").mkdir()
    with pytest.raises(CostModelError, match=r"prices\.toml: cannot be written: is a directory, expected a file$"):
        CostModel.uniform(["a"]).save(tmp_path / "prices.toml")


@pytest.mark.parametrize("failing", ["fsync", "replace", "a directory"])
def test_one_that_cannot_be_written_keeps_all_as_they_were(tmp_path, monkeypatch, failing):
    def full(*_arguments):
        raise OSError(28, "No space left on device", "somewhere.tmp")

    (tmp_path / "a").write_bytes(b"old")
    if failing == "a directory":
        (tmp_path / "c").mkdir()
    else:
        monkeypatch.setattr(*((files.os, "fsync") if failing == "fsync" else (Path, "replace")), full)
    with pytest.raises(OSError, match=r"No space left|is a directory") as caught:
        write_together({tmp_path / name: b"new" for name in "abc"})
    assert caught.value.filename == str(tmp_path / ("c" if failing == "a directory" else "a"))
    assert {path.name for path in tmp_path.iterdir() if path.is_file()} == {"a"}
    assert (tmp_path / "a").read_bytes() == b"old"


def test_what_is_written_piece_by_piece_takes_its_place_at_the_end(tmp_path):
    (path := tmp_path / "long").write_bytes(b"old")
    with open_atomically(path) as file:
        file.write(b"ne")
        file.write(b"w")
        assert path.read_bytes() == b"old"
    with pytest.raises(KeyboardInterrupt), open_atomically(path) as file:  # noqa: PT012 - it is interrupted in between
        file.write(b"half")
        raise KeyboardInterrupt
    full = OSError(errno.ENOSPC, "No space left on device")  # as pyarrow raises it, without a name
    with pytest.raises(OSError, match=f"No space left on device: '{path}'"), open_atomically(path):
        raise full
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]
