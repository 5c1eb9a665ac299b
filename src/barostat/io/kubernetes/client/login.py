"""The credentials of an access, fresh when they are asked for, and the TLS that goes with them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import ssl
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from barostat.core.errors import InputError, OutsideError
from barostat.core.redaction.credentials import clean
from barostat.io.input_files.small_file import read_small
from barostat.io.kubernetes.client.addresses import is_header
from barostat.io.kubernetes.client.kubeconfig import ClusterAccess, ExecPlugin

PLUGIN_S = 60.0
"""Time for a credential plugin: some open a browser."""
EARLY_S = 30.0
"""A credential is renewed this long before it runs out."""


@dataclass(frozen=True, slots=True)
class Credential:
    """A credential for the API server. `until`: unix seconds, None if it has no expiry."""

    token: str | None = None
    certificate: str | None = None
    key: str | None = None
    until: float | None = None

    def lasts(self, now: float) -> bool:
        """True while it need not be renewed."""
        return self.until is None or now < self.until - EARLY_S


async def credential(access: ClusterAccess) -> Credential:
    """The credential to use now: the plugin's, the token file's, or what the kubeconfig holds.

    Errors: InputError where a plugin or a file is missing; OutsideError where the plugin fails.
    """
    if access.plugin is not None:
        return await _from_plugin(access.plugin)
    token = access.token
    if access.token_file is not None and not token:
        try:
            token = read_small(access.token_file).decode("latin-1").strip()
        except (OSError, ValueError) as error:
            raise InputError(
                f"the token cannot be read ({getattr(error, 'strerror', error)})",
                str(access.token_file),
            ) from None
        if not is_header(token):
            raise InputError(
                "tokenFile holds no token: one line of printable ASCII is one; write it anew",
                str(access.token_file),
            )
    return Credential(token, access.certificate, access.key)


def headers(access: ClusterAccess, found: Credential) -> list[tuple[str, str]]:
    """The headers that say who asks."""
    made = [("user-agent", "barostat")]
    if found.token:
        made.append(("authorization", f"Bearer {found.token}"))
    for name, value in access.impersonate.items():
        made += [(name, one) for one in (value if isinstance(value, list) else [value])]
    return made


def tls(access: ClusterAccess, found: Credential) -> ssl.SSLContext:
    """The TLS context: the cluster's authority (else the system's), the client's certificate where
    it has one.

    Errors: InputError for a certificate that is none, and for a key that waits for a passphrase:
    nobody is asked for one.
    """
    where = access.file or "kubeconfig"
    if (
        found.certificate
        and found.key
        and ("BEGIN ENCRYPTED" in found.key or "Proc-Type: 4,ENCRYPTED" in found.key)
    ):
        raise InputError(
            f"the client-key of context {access.context!r} is encrypted; give one without "
            "a passphrase (openssl pkey -in KEY -out PLAIN), "
            "a token or an exec plugin",
            where,
        )
    try:
        context = (
            ssl.create_default_context(cadata=access.ca)
            if access.ca
            else ssl.create_default_context()
        )
        # Authorities of clusters often lack the extensions that Python 3.13 began to insist on;
        # kubectl accepts them.
        context.verify_flags &= ~getattr(ssl, "VERIFY_X509_STRICT", 0)
        if access.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if found.certificate and found.key:
            with tempfile.TemporaryDirectory(
                prefix="barostat-"
            ) as folder:  # ssl reads keys from files only; for its owner, and gone at once
                pair = Path(folder) / "pair.pem"
                pair.touch(mode=0o600)
                pair.write_text(f"{found.certificate.strip()}\n{found.key.strip()}\n")
                context.load_cert_chain(pair, password=lambda: "")
    except (ssl.SSLError, ValueError, TypeError) as error:
        raise InputError(
            f"a certificate or key of context {access.context!r} cannot be used ({_short(error)})",
            where,
        ) from None
    if access.tls_server_name:
        _ask_by(context, access.tls_server_name)
    return context


def _ask_by(context: ssl.SSLContext, name: str) -> None:
    """The server is asked by that name, whatever its address is: httpx's own option does not reach
    through a proxy.
    """
    wrap = context.wrap_bio

    def named(
        incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO, server_side: bool = False, server_hostname: str | bytes | None = None,
        session: ssl.SSLSession | None = None,
    ) -> ssl.SSLObject:  # fmt: skip
        del server_hostname
        return wrap(incoming, outgoing, server_side, name, session)

    context.wrap_bio = named  # type: ignore[method-assign]


def _short(error: Exception) -> str:
    return str(getattr(error, "reason", None) or error).replace("_", " ").lower()


async def _from_plugin(plugin: ExecPlugin) -> Credential:
    asks = plugin.may_ask and sys.stdin is not None and sys.stdin.isatty()
    spec: dict[str, Any] = {"interactive": asks} | (
        {"cluster": dict(plugin.cluster)} if plugin.cluster is not None else {}
    )
    told = json.dumps(
        {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}, default=str
    )
    environment = {**os.environ, **plugin.env, "KUBERNETES_EXEC_INFO": told}
    where = f"credential plugin {plugin.command}"
    try:
        process = await asyncio.create_subprocess_exec(
            plugin.command,
            *plugin.args,
            env=environment,
            stdin=None if asks else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=None if asks else asyncio.subprocess.PIPE,
        )
    except (OSError, ValueError) as error:
        hint = f"; {plugin.install_hint.strip()}" if plugin.install_hint else ""
        raise InputError(
            f"cannot be started ({getattr(error, 'strerror', error)}){hint}", where
        ) from None
    try:
        out, err = await asyncio.wait_for(process.communicate(), PLUGIN_S)
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        raise OutsideError(
            f"{where} did not answer within {PLUGIN_S:g} s", retryable=True
        ) from None
    if process.returncode != 0:
        said = " ".join(clean((err or b"").decode("utf-8", "replace")).split())[-200:]
        raise OutsideError(
            f"{where} failed with exit code {process.returncode}: {said or 'it said nothing'}",
            retryable=True,
        )
    return _read(out, where)


def _read(out: bytes, where: str) -> Credential:
    try:
        document = json.loads(out)
    except (ValueError, RecursionError):
        document = None
    status = document.get("status") if isinstance(document, dict) else None
    status = status if isinstance(status, Mapping) else {}
    token, certificate, key = (
        status.get(name) for name in ("token", "clientCertificateData", "clientKeyData")
    )
    if not token and not (certificate and key):
        raise OutsideError(f"{where} printed no credential", retryable=False)
    if token and not is_header(str(token)):
        raise OutsideError(
            f"{where} printed a token with a line break or a character beyond ASCII in it",
            retryable=False,
        )
    until = None
    if isinstance(status.get("expirationTimestamp"), str):
        with contextlib.suppress(ValueError):
            until = datetime.fromisoformat(status["expirationTimestamp"]).timestamp()
    return Credential(
        str(token) if token else None,
        str(certificate) if certificate else None,
        str(key) if key else None,
        until,
    )
