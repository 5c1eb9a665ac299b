"""What people type for an address."""

from __future__ import annotations

from pathlib import Path

import pytest

from barostat.core.errors import InputError
from barostat.io.engine_http.address import address


@pytest.mark.parametrize(
    ("text", "base", "name"),
    [
        ("host:8000", "http://host:8000", "host:8000"),
        ("host", "http://host:8000", "host:8000"),
        (":8001", "http://localhost:8001", "localhost:8001"),
        ("8001", "http://localhost:8001", "localhost:8001"),
        (" http://host:8000/ ", "http://host:8000", "host:8000"),
        ("http://host:8000/metrics", "http://host:8000", "host:8000"),
        ("http://host:8000/v1", "http://host:8000", "host:8000"),
        ("http://host:8000/v1/chat/completions", "http://host:8000", "host:8000"),
        ("http://host:8000/health?x=1#y", "http://host:8000", "host:8000"),
        ("http://host", "http://host:80", "host:80"),
        ("HTTPS://Host/vllm/metrics", "https://host:443/vllm", "host:443_vllm"),
        ("https://gw/team/model-a/", "https://gw:443/team/model-a", "gw:443_team_model-a"),
        ("[::1]:8000", "http://[::1]:8000", "::1:8000"),
        ("10.0.0.1:80", "http://10.0.0.1:80", "10.0.0.1:80"),
    ],
)
def test_the_address_of_the_engine_is_meant(text: str, base: str, name: str) -> None:
    found = address(text)
    assert (found.base, found.name) == (base, name)


def test_credentials_in_the_address_are_used_and_never_shown() -> None:
    found = address("http://bob:p%40ss@host:8000/metrics")
    assert found.user == ("bob", "p@ss")
    assert (found.base, found.name) == ("http://host:8000", "host:8000")


@pytest.mark.parametrize("text", ["localhost:1", "http://127.0.0.1:1", "[::1]:1"])
def test_the_loopback_is_known(text: str) -> None:
    assert address(text).is_local


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ftp://host",
        "http://",
        "http://host:port",
        "http://host:99999",
        "a b",
        "host,other",
        "http://[::1",
        "http://a\\b",
        "file:///x",
    ],
)
def test_what_is_no_address_says_how_to_write_one(text: str) -> None:
    with pytest.raises(InputError, match="http://host:8000"):
        address(text)


def test_a_file_is_no_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "incident.tar.gz").write_bytes(b"")
    for text in ("incident.tar.gz", "./incident.tar.gz", str(tmp_path)):
        with pytest.raises(InputError, match="barostat diagnose FILE"):
            address(text)


def test_a_name_that_is_too_long_for_a_file_is_no_file() -> None:
    assert address("a" * 300).at("/").startswith("http://aaa")
