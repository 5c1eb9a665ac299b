"""Where a Prometheus is and how one gets in: its address with a prefix, credentials from a file,
the authority of its certificate.
"""

from __future__ import annotations

import re
import ssl
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

import httpx

from barostat.core.errors import InputError
from barostat.io.engine_http.http import connect_s

_API = re.compile(r"/(?:api(?:/v1(?:/\w*)?)?|graph|query|targets|alerts|classic/graph)/*$")
_TENANT_HEADERS = ("X-Scope-OrgID", "THANOS-TENANT")
"""Mimir's, and the default of Thanos' --query.tenant-header."""
_LONGEST_SECRET = 64 << 10


@dataclass(frozen=True, slots=True)
class PrometheusAccess:
    """`base`: address with its prefix, no slash at its end, no credentials. `headers` and `user`
    hold secrets and are never shown.
    """

    base: str
    headers: dict[str, str] = field(default_factory=dict, repr=False)
    user: tuple[str, str] | None = field(default=None, repr=False)
    ca_file: Path | None = None

    def session(self) -> httpx.AsyncClient:
        """A client: asked directly, certificates checked against the given authority, else the
        system's.

        Errors: InputError for a file of authorities that cannot be read.
        """
        secure: ssl.SSLContext | bool = False
        if self.base.startswith("https:"):
            try:
                secure = ssl.create_default_context(
                    cafile=str(self.ca_file) if self.ca_file else None
                )
            except (OSError, ssl.SSLError) as error:
                raise InputError(
                    f"holds no certificates that can be read ({error})", str(self.ca_file)
                ) from None
        auth = httpx.BasicAuth(*self.user) if self.user else None
        limits = httpx.Limits(max_connections=8, max_keepalive_connections=8)
        headers = {"user-agent": "barostat", "accept": "application/json", **self.headers}
        timeout = httpx.Timeout(None, connect=connect_s(self.base))
        return httpx.AsyncClient(
            verify=secure,
            limits=limits,
            timeout=timeout,
            trust_env=False,
            auth=auth,
            headers=headers,
        )


def access(
    url: str, auth_file: Path | None = None, ca_file: Path | None = None, tenant: str = ""
) -> PrometheusAccess:
    """Return the access to `prometheus:9090`, `https://thanos.example/prefix`, or an address copied
    from the browser.

    `auth_file`: one line, `user:password` for basic authentication, else a bearer token; or the
    whole header, `Bearer ...`, `Basic ...`. `tenant`: sent as X-Scope-OrgID (Mimir) and
    THANOS-TENANT (Thanos).

    Errors: InputError for an invalid address, or a file without credentials.
    """
    given = url.strip()
    given = given if re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", given) else f"http://{given}"
    try:
        parts = urlsplit(given)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise InputError(
            f"no address: {error}; write it as http://prometheus:9090", "--prometheus"
        ) from None
    if parts.scheme.lower() not in ("http", "https") or not re.fullmatch(r"[\w.:%-]+", host):
        raise InputError(
            f"{url!r} is no address; write it as http://prometheus:9090, with its prefix "
            "if it has one",
            "--prometheus",
        )
    shown = f"[{host}]" if ":" in host else host
    prefix = _API.sub("", parts.path.rstrip("/") or "/").rstrip("/")
    base = f"{parts.scheme.lower()}://{shown}{f':{port}' if port else ''}{prefix}"
    user = (
        (unquote(parts.username or ""), unquote(parts.password or ""))
        if parts.username or parts.password
        else None
    )
    headers = dict.fromkeys(_TENANT_HEADERS, tenant) if tenant else {}
    if auth_file is not None:
        scheme, secret = _secret(auth_file)
        name, colon, word = secret.partition(":")
        if colon and not scheme:
            user = (name, word)
        else:
            user, headers["Authorization"] = None, f"{scheme or 'Bearer'} {secret}"
    return PrometheusAccess(base, headers, user, ca_file)


def _secret(path: Path) -> tuple[str, str]:
    """The scheme, where the file says it, and the secret."""
    try:
        with path.open("rb") as file:
            text = file.read(_LONGEST_SECRET).decode().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"cannot be read ({getattr(error, 'strerror', None) or 'it is no text'})", str(path)
        ) from None
    said = re.match(r"(?:authorization:\s*)?(bearer|basic)\s+", text, flags=re.IGNORECASE)
    scheme, text = (said[1].capitalize(), text[said.end() :]) if said else ("", text)
    if not text or "\n" in text or not text.isprintable():
        raise InputError(
            "holds no credentials; write one line into it, user:password or a bearer token",
            str(path),
        )
    return scheme, text
