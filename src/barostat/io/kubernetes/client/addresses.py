"""Addresses and credentials as a kubeconfig or the environment holds them, checked before anything
is asked.

Source: Go 1.24, golang.org/x/net/http/httpproxy (which proxy the environment means for which host),
as kubectl uses it.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

import httpx

from barostat.core.errors import InputError

_HEADER = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")
_HOST = re.compile(r"[\w.:%-]+")


def without_user(url: str) -> str:
    """Return the address without a user name and password, for output."""
    before, at, behind = url.rpartition("@")
    scheme = re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", before)
    return f"{scheme[0] if scheme else ''}{behind}" if at else url


def checked(url: str, field: str, where: str) -> tuple[str, tuple[str, str] | None]:
    """Return the http or https address without its user, and the user. `field`: for error messages,
    such as "server of cluster 'k'".

    Errors: InputError for an invalid address.
    """
    told = without_user(url)
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        raise InputError(
            f"{field} is {told!r}, which is no address; write it as https://HOST:PORT", where
        ) from None
    if parts.scheme.lower() not in ("http", "https"):
        raise InputError(
            f"{field} is {told!r}, and only http and https are spoken here; write it as "
            "https://HOST:PORT",
            where,
        )
    if not _HOST.fullmatch(host) or re.search(r"[\s\x00-\x1f\x7f\\]", url):
        raise InputError(
            f"{field} is {told!r}, which names no host; write it as https://HOST:PORT", where
        )
    try:
        port = parts.port
        httpx.URL(url)
    except (ValueError, httpx.InvalidURL):
        raise InputError(
            f"{field} is {told!r}, whose host or port cannot be (ports are 1 to 65535)", where
        ) from None
    shown = f"[{host}]" if ":" in host else host
    user = (
        (unquote(parts.username or ""), unquote(parts.password or ""))
        if parts.username or parts.password
        else None
    )
    return (
        f"{parts.scheme.lower()}://{shown}{f':{port}' if port is not None else ''}{parts.path.rstrip('/')}",
        user,
    )


def checked_proxy(url: str, field: str, where: str) -> str:
    """The address of a proxy, with the user in it.

    Errors: InputError for one that is no http or https proxy.
    """
    if url.lower().startswith("socks"):
        told = without_user(url)
        raise InputError(
            f"{field} is {told!r}, and SOCKS is not spoken here; give an http or https "
            "proxy, or none",
            where,
        )
    checked(url, field, where)
    return url


def environment_proxy(server: str, env: Mapping[str, str]) -> tuple[str, str]:
    """The proxy that the environment wants for this server, and the variable that says so; both
    empty if it wants none.

    This machine's own addresses are asked directly, and so is what NO_PROXY names.
    Errors: InputError for a proxy that cannot be used.
    """
    parts = urlsplit(server)
    name = next(
        (
            name
            for name in (f"{parts.scheme.upper()}_PROXY", f"{parts.scheme}_proxy")
            if env.get(name)
        ),
        "",
    )
    host = (parts.hostname or "").lower()
    if (
        not name
        or _is_own(host)
        or _excepted(host, parts.port or (443 if parts.scheme == "https" else 80), env)
    ):
        return "", ""
    url = env[name].strip()
    return checked_proxy(url if "://" in url else f"http://{url}", "the proxy there", name), name


def is_header(value: str) -> bool:
    """True for what can stand in an HTTP header: ASCII that prints, without a line break, and no
    blank around it.
    """
    return bool(_HEADER.fullmatch(value))


def _is_own(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _excepted(host: str, port: int, env: Mapping[str, str]) -> bool:
    for entry in re.split(r"[\s,]+", (env.get("NO_PROXY") or env.get("no_proxy") or "").lower()):
        name, colon, wanted = entry.rpartition(":")
        if colon and wanted.isdecimal() and "::" not in entry:
            if int(wanted) != port:
                continue
        else:
            name = entry
        if name == "*" or (name and _matches(host, name.strip("[]"))):
            return True
    return False


def _matches(host: str, name: str) -> bool:
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(name, strict=False)
    except ValueError:
        domain = name.removeprefix("*")
        return host.endswith(domain if domain.startswith(".") else f".{domain}") or host == domain
