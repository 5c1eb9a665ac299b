"""A file with one key: read, never quoted, and told where everybody can read it."""

from __future__ import annotations

from pathlib import Path

import pytest

from barostat.core.errors import InputError
from barostat.io.input_files.secret_file import is_open_to_all, secret_in


@pytest.mark.parametrize("text", [b"sk-1", b"sk-1\n", b"\xef\xbb\xbfsk-1\r\n"])
def test_one_key(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "key").write_bytes(text)
    assert secret_in(tmp_path / "key") == "sk-1"


@pytest.mark.parametrize("text", [b"", b"sk 1", b"sk-1\nsk-2", b"\xff", b"sk-\xc3\xa4"])
def test_what_is_no_key_is_not_quoted(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "key").write_bytes(text)
    with pytest.raises(InputError) as told:
        secret_in(tmp_path / "key")
    assert "sk" not in str(told.value).removeprefix(str(tmp_path))


def test_who_may_read_it(tmp_path: Path) -> None:
    path = tmp_path / "key"
    assert not is_open_to_all(path)
    path.write_text("sk-1")
    for mode, told in ((0o600, False), (0o640, False), (0o644, True), (0o604, True)):
        path.chmod(mode)
        assert is_open_to_all(path) is told
