"""The gateway's TLS certificate chain. It is reloaded when its files change, so renewals take
effect.
"""

from __future__ import annotations

import ssl
from pathlib import Path

from barostat.core.errors import InputError
from barostat.gateway.say import say
from barostat.gateway.settings import GatewaySettings
from barostat.io.input_files.file_stamp import stamp

_LOOK_EVERY_S = 10.0


class _Encrypted(Exception):
    """A key that asks for a password."""


def _no_password() -> str:
    """It never prompts on the terminal, because a gateway that waits there serves no requests."""
    raise _Encrypted


class TlsChain:
    """A chain and its key. `context`: what connections are made with; those that come after a
    change have the new chain.
    """

    def __init__(self, chain: Path, key: Path) -> None:
        """Errors: InputError where there are no two that fit."""
        self._chain, self._key = chain, key
        self._stamps = self._seen()
        self._looked_at = 0.0
        self.context = self._read()

    def tick(self, now: float) -> None:
        """The files are read if they have changed."""
        if now - self._looked_at >= _LOOK_EVERY_S:
            self._looked_at = now
            if self._seen() != self._stamps:
                self.reload()

    def reload(self) -> None:
        """The files are read; while they do not fit the chain before is served."""
        self._stamps = self._seen()
        try:
            self._read()  # apart: a key that does not fit would leave the one in use without any
            self.context.load_cert_chain(self._chain, self._key, _no_password)
        except (InputError, OSError) as error:
            say(str(error))
            say("the certificate before is served on")
            return
        say(f"{self._chain} is served")

    def _read(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        try:
            for path in (self._chain, self._key):
                path.open(
                    "rb"
                ).close()  # which of the two cannot be read is not in the library's words
        except OSError as error:
            raise InputError(error.strerror or str(error), str(path)) from None
        try:
            context.load_cert_chain(self._chain, self._key, _no_password)
        except _Encrypted:
            raise InputError(
                "the key is encrypted, and nobody is asked for its password: give one without",
                str(self._key),
            ) from None
        except (OSError, ssl.SSLError) as error:
            raise InputError(
                f"no certificate and key that fit: {self._key} ({error.strerror or error})",
                str(self._chain),
            ) from None
        return context

    def _seen(self) -> tuple[object, ...]:
        return stamp(self._chain), stamp(self._key)


def chain_of(settings: GatewaySettings) -> TlsChain | None:
    """The chain that clients are served with, None for plain HTTP. Errors: InputError."""
    if settings.tls_cert is None or settings.tls_key is None:
        if settings.tls_cert is not settings.tls_key:
            raise InputError("--tls-cert and --tls-key belong together")
        return None
    return TlsChain(settings.tls_cert, settings.tls_key)


def trusting(settings: GatewaySettings) -> ssl.SSLContext | None:
    """Return the TLS context for https engines; None if there are none. Errors: InputError."""
    if not any(address.secure for address in settings.upstreams) and settings.follow is None:
        if settings.upstream_ca is not None:
            raise InputError(
                "no engine is https://: nothing would be held to it",
                f"--upstream-ca {settings.upstream_ca}",
            )
        return None
    try:
        return ssl.create_default_context(cafile=settings.upstream_ca)
    except (OSError, ssl.SSLError) as error:
        raise InputError(
            f"no certificate authority ({error.strerror or error})", str(settings.upstream_ca)
        ) from None
