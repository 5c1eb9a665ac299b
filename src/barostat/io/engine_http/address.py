"""The address of an engine, from whatever a person types for it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from barostat.core.errors import InputError

DEFAULT_PORT = 8000
"""Default port of `vllm serve`."""
_ENDPOINTS = re.compile(
    r"/(?:metrics|health|version|v1(?:/(?:models|completions|chat/completions))?|docs|ping)?/*$"
)
_PATTERN = re.compile(r"[*?]|\[[^\]:]+\]")
"""A colon within brackets is an IPv6 address."""
NO_MATCH = "no file matches this pattern"
_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*)://")


@dataclass(frozen=True, slots=True)
class Address:
    """Address of an engine's HTTP server. `base` has no slash at its end and no credentials; `name`
    is short and safe as a file name.
    """

    base: str
    name: str
    host: str
    port: int
    user: tuple[str, str] | None = None

    def at(self, path: str) -> str:
        """The URL of an endpoint."""
        return f"{self.base}{path}"

    @property
    def is_local(self) -> bool:
        """True for this machine's loopback."""
        return self.host == "localhost" or self.host.startswith("127.") or self.host == "::1"


def address(text: str) -> Address:
    """Return the address meant by `host`, `host:8000`, `:8000`, `8000`, `http://host:8000/` or
    `http://host:8000/metrics`.

    Errors: InputError for an invalid HTTP address.
    """
    given = text.strip()
    if given.removeprefix(":").isdecimal():
        given = f"localhost:{given.lstrip(':')}"
    scheme = _SCHEME.match(given)
    if not scheme and given and (given.startswith((".", "/", "~")) or _is_there(given)):
        raise InputError(
            "a file, not an address; a recorded bundle or a log is read by `barostat "
            "diagnose FILE`, one at a time",
            text,
        )
    if is_pattern(given):
        raise InputError(NO_MATCH, text)
    url = given if scheme else f"http://{given}"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise InputError(f"no address: {error}; write it as http://host:8000", text) from None
    if parts.scheme.lower() not in ("http", "https"):
        raise InputError(f"{parts.scheme} is not spoken here; write it as http://host:8000", text)
    if not host or re.search(r"[\s\\,]", given) or not re.fullmatch(r"[\w.:%-]+", host):
        raise InputError("no address; write it as http://host:8000", text)
    if port is None:
        port = (443 if parts.scheme.lower() == "https" else 80) if scheme else DEFAULT_PORT
    shown = f"[{host}]" if ":" in host else host
    prefix = _ENDPOINTS.sub("", parts.path.rstrip("/") or "/")
    base = f"{parts.scheme.lower()}://{shown}:{port}{prefix}"
    name = re.sub(r"[^\w.:-]+", "_", f"{host}:{port}{prefix}").strip("._")
    user = (
        (unquote(parts.username or ""), unquote(parts.password or ""))
        if parts.username or parts.password
        else None
    )
    return Address(base, name, host, port, user)


def is_pattern(word: str) -> bool:
    """True for a pattern of file names that the shell passed on because no file matches it."""
    return "://" not in word and _PATTERN.search(word) is not None and not _is_there(word)


def _is_there(name: str) -> bool:
    """True for a file or folder of that name; what can be no name of one is none."""
    try:
        return Path(name).exists()
    except OSError:
        return False
