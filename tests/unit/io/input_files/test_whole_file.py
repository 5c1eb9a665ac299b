"""Whole files, packed or not."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from barostat.core.errors import InputError
from barostat.io.input_files.whole_file import read_whole


def test_packed_or_not_the_text_is_the_same(tmp_path: Path) -> None:
    text = "a,b\n1,ü\n"
    plain, packed = tmp_path / "plain.csv", tmp_path / "named_as_it_likes.csv"
    plain.write_bytes(b"\xef\xbb\xbf" + text.encode())
    packed.write_bytes(gzip.compress(text.encode()))
    assert read_whole(plain) == read_whole(packed) == text


@pytest.mark.parametrize(
    "content",
    [b"\x1f\x8b", gzip.compress(b"x" * 999, mtime=0)[:-9], b"\x1f\x8b\x08\x00" + b"\xff" * 40],
)
def test_what_cannot_be_unpacked_is_said(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "cut.gz"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"cut\.gz"):
        read_whole(path)
    with pytest.raises(InputError, match="gone"):
        read_whole(tmp_path / "gone")
