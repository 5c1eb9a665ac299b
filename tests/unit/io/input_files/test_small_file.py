"""A token or certificate is a small regular file, or an error at once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from barostat.io.input_files.small_file import read_small


def test_a_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "token").write_bytes(b"abc")
    assert read_small(tmp_path / "token") == b"abc"


def test_a_pipe_a_device_a_folder_and_a_large_file_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large").write_bytes(b"x" * 11)
    for path in (tmp_path / "pipe", Path("/dev/zero"), tmp_path, tmp_path / "large"):
        with pytest.raises(OSError, match=r"regular|larger|directory"):
            read_small(path, 10)
