"""A certificate that was renewed is served, and one that does not fit its key is not."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from pathlib import Path

import pytest

from barostat.core.errors import InputError
from barostat.gateway.tls_chain import TlsChain


def made(folder: Path, name: str) -> tuple[Path, Path]:
    """A certificate for that name, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("no openssl here to make a certificate with")
    folder.mkdir(exist_ok=True)
    chain, key = folder / "tls.crt", folder / "tls.key"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "2",
    ]
    subprocess.run(
        [*command, "-subj", f"/CN={name}", "-keyout", key, "-out", chain],
        check=True,
        capture_output=True,
    )
    return chain, key


def served(certificate: TlsChain) -> bytes:
    """What a client is shown, in a handshake without a network."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    client = trusting.wrap_bio(to_client, to_server)
    server = certificate.context.wrap_bio(to_server, to_client, server_side=True)
    for _ in range(4):
        for side in (client, server):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    return client.getpeercert(binary_form=True) or b""


def test_a_renewed_certificate_is_served_from_then_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chain, key = made(tmp_path / "in-use", "old")
    certificate = TlsChain(chain, key)
    before = served(certificate)
    assert before
    new_chain, new_key = made(tmp_path / "new", "new")
    new_chain.replace(chain)
    certificate.tick(100.0)  # its key is not here yet
    assert "the certificate before is served on" in capsys.readouterr().err
    assert served(certificate) == before
    new_key.replace(key)
    certificate.tick(105.0)  # looked at too lately
    assert served(certificate) == before
    certificate.tick(110.0)
    assert served(certificate) not in (before, b"")
    assert "is served" in capsys.readouterr().err
    certificate.tick(120.0)
    assert capsys.readouterr().err == ""


def test_files_that_do_not_fit_are_told_at_the_start(tmp_path: Path) -> None:
    chain, _ = made(tmp_path / "one", "one")
    _, key = made(tmp_path / "two", "two")
    with pytest.raises(InputError, match="no certificate and key that fit"):
        TlsChain(chain, key)
    for one, other in ((tmp_path / "none", key), (chain, tmp_path / "none")):
        with pytest.raises(InputError, match="none: No such file"):
            TlsChain(one, other)


def test_nobody_is_asked_for_the_password_of_a_key(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    chain, key = made(tmp_path / "one", "one")
    certificate = TlsChain(chain, key)
    before = served(certificate)
    command = [
        "openssl",
        "pkey",
        "-in",
        str(key),
        "-aes256",
        "-passout",
        "pass:word",
        "-out",
        str(tmp_path / "encrypted"),
    ]
    subprocess.run(command, check=True, capture_output=True)
    with pytest.raises(InputError, match="encrypted: the key is encrypted"):
        TlsChain(chain, tmp_path / "encrypted")
    (tmp_path / "encrypted").replace(key)
    certificate.tick(100.0)
    assert served(certificate) == before
    said = capfd.readouterr().err
    assert "the certificate before is served on" in said
    assert "PEM pass phrase" not in said
