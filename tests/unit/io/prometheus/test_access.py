"""Addresses as people have them, and credentials from a file that are never shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from barostat.core.errors import InputError
from barostat.io.prometheus.access import access


@pytest.mark.parametrize(
    ("given", "base"),
    [
        ("prometheus:9090", "http://prometheus:9090"),
        ("http://p:9090/", "http://p:9090"),
        ("http://p:9090/graph", "http://p:9090"),
        ("http://p:9090/api/v1/query", "http://p:9090"),
        ("https://mimir.example/prometheus", "https://mimir.example/prometheus"),
        ("https://h/prometheus/api/v1", "https://h/prometheus"),
        ("http://[::1]:9090", "http://[::1]:9090"),
    ],
)
def test_the_address_is_understood(given: str, base: str) -> None:
    assert access(given).base == base


@pytest.mark.parametrize(
    "given", ["", "ftp://x", "http://", "http://a b", "http://x:99999", "/etc/passwd"]
)
def test_what_is_none_is_one_sentence(given: str) -> None:
    with pytest.raises(InputError, match="http://prometheus:9090"):
        access(given)


@pytest.mark.parametrize(
    ("text", "user", "header"),
    [
        ("me:pass:word\n", ("me", "pass:word"), None),
        ("eyJ0b2tlbg", None, "Bearer eyJ0b2tlbg"),
        ("Bearer eyJ0b2tlbg\n", None, "Bearer eyJ0b2tlbg"),
        ("Authorization: Bearer eyJ0b2tlbg", None, "Bearer eyJ0b2tlbg"),
        ("Bearer eyJ0:b2tlbg", None, "Bearer eyJ0:b2tlbg"),
        ("Authorization: Basic eyJwYXNz\n", None, "Basic eyJwYXNz"),
    ],
)
def test_credentials_come_from_a_file(
    tmp_path: Path, text: str, user: tuple[str, str] | None, header: str | None
) -> None:
    (tmp_path / "auth").write_text(text)
    found = access("http://u:old@p:9090", tmp_path / "auth", tenant="team")
    assert found.user == user
    assert found.headers.get("Authorization") == header
    assert {found.headers[name] for name in ("X-Scope-OrgID", "THANOS-TENANT")} == {"team"}
    assert found.base == "http://p:9090"
    assert "word" not in repr(found)
    assert "eyJ" not in repr(found)


@pytest.mark.parametrize("text", ["", "\n", "two\nlines", "a\x07b"])
def test_a_file_without_them_is_one_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / "auth").write_text(text)
    with pytest.raises(InputError, match="user:password or a bearer token"):
        access("p", tmp_path / "auth")
    with pytest.raises(InputError, match="cannot be read"):
        access("p", tmp_path / "none")
