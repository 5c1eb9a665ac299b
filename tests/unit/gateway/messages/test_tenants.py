"""Keys are read with the line of what is wrong, and never quoted."""

from __future__ import annotations

from pathlib import Path

import pytest

from barostat.core.errors import InputError
from barostat.gateway.messages.tenants import bearer, load_keys


def test_keys_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text("# tenants\n\nred: sk-1\nred: sk-2\nblue sk-3\n")
    table = load_keys(path)
    assert [
        table.tenant_of(key) for key in (b"sk-1", b"sk-2", b"sk-3", b"sk-4", b"", b"s" * 5000)
    ] == [
        "red",
        "red",
        "blue",
        None,
        None,
        None,
    ]
    assert "sk-1" not in repr([getattr(table, name) for name in dir(table)])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("red: secret\nred\n", ":2: a tenant's name"),
        ("a: secret\nb: secret\n", ":2: two tenants"),
        ("", "holds no key"),
        ("a b c: secret", ":1:"),
        (
            "red: se cret",
            ":1: a tenant's name, a colon and its key were expected; neither has a space",
        ),
        ('red: "secret"', ":1: the key stands in quotes"),
    ],
)
def test_what_is_wrong_is_told_without_a_key(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "keys"
    path.write_text(text)
    with pytest.raises(InputError) as told:
        load_keys(path)
    assert said in str(told.value)
    assert "secret" not in str(told.value)


def test_a_file_as_windows_writes_it(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_bytes(b"\xef\xbb\xbfred: sk-1\r\nblue: sk-2\r\n")
    table = load_keys(path)
    assert [table.tenant_of(key) for key in (b"sk-1", b"sk-2")] == ["red", "blue"]


def test_bearer() -> None:
    assert bearer(b"Bearer abc") == b"abc"
    assert bearer(b"bearer  abc ") == b"abc"
    assert bearer(b"Basic abc") == b""
    assert bearer(b"") == b""
