"""One request against servers that behave, and against all the others."""

from __future__ import annotations

import asyncio
import gzip
import shutil
import socket
import ssl
import subprocess
import threading
import time
from pathlib import Path

import httpx
import pytest
from tests.support.small_servers import (
    METRICS,
    Handler,
    always,
    answer,
    closed_port,
    pause,
    reset,
    serving,
    silence,
)

from barostat.io.engine_http.address import address
from barostat.io.engine_http.http import (
    CONNECT_S,
    Answer,
    Failure,
    ask,
    client,
    connect_s,
    failure_of,
)


def _ask(
    url: str, *, within_s: float = 5.0, max_bytes: int = 1 << 20, path: str = "/metrics"
) -> Answer | Failure:
    async def once() -> Answer | Failure:
        where = address(url)
        async with client(where) as session:
            return await ask(session, where.at(path), within_s=within_s, max_bytes=max_bytes)

    return asyncio.run(once())


def test_an_answer_is_given_whole() -> None:
    with serving(always(answer(METRICS))) as (port, seen):
        found = _ask(f"localhost:{port}")
    assert found == Answer(200, "text/plain; version=0.0.4", METRICS.encode())
    assert seen == ["GET /metrics HTTP/1.1"]


def test_a_compressed_answer_is_unpacked() -> None:
    with serving(
        always(answer(gzip.compress(METRICS.encode()), more="content-encoding: gzip\r\n"))
    ) as (port, _):
        found = _ask(f"localhost:{port}")
    assert isinstance(found, Answer)
    assert found.text == METRICS


def test_an_answer_compressed_wrongly_is_none() -> None:
    with serving(always(answer(b"no gzip", more="content-encoding: gzip\r\n"))) as (port, _):
        found = _ask(f"localhost:{port}")
    assert isinstance(found, Failure)
    assert found.kind == "no-http"


def test_an_answer_beyond_the_bound_is_cut() -> None:
    with serving(always(answer("x" * 300_000))) as (port, _):
        found = _ask(f"localhost:{port}", max_bytes=1 << 17)
    assert isinstance(found, Answer)
    assert (len(found.body), found.cut) == (1 << 17, "the answer is larger than 0.125 MiB")


def test_a_body_that_unpacks_to_too_much_is_cut() -> None:
    with serving(
        always(answer(gzip.compress(b"0" * 50_000_000), more="content-encoding: gzip\r\n"))
    ) as (port, _):
        found = _ask(f"localhost:{port}", max_bytes=1 << 20)
    assert isinstance(found, Answer)
    assert len(found.body) == 1 << 20


@pytest.mark.usefixtures("on_virtual_time")
@pytest.mark.parametrize("end", ["closed", "reset"])
def test_half_an_answer_is_kept_and_says_so(end: str) -> None:
    def half(connection: socket.socket, _: str) -> None:
        raw = answer(METRICS)
        connection.sendall(raw[: len(raw) - 40])
        if end == "reset":
            pause(0.2)
            reset(connection)

    with serving(half) as (port, _):
        found = _ask(f"localhost:{port}")
    assert isinstance(found, Answer)
    assert METRICS.startswith(found.text)
    assert len(found.text) == len(METRICS) - 40
    assert found.cut == "the connection broke off in the middle of the answer"


@pytest.mark.usefixtures("on_virtual_time")
def test_a_server_that_drips_is_given_its_time_and_no_more() -> None:
    def drip(connection: socket.socket, _: str) -> None:
        connection.sendall(answer(METRICS)[:-50])
        for _number in range(40):
            pause(0.1)
            connection.sendall(b"x")

    started = time.monotonic()
    with serving(drip) as (port, _):
        found = _ask(f"localhost:{port}", within_s=0.6)
    assert isinstance(found, Answer)
    assert found.cut == "the answer was not complete within 0.6 s"
    assert time.monotonic() - started < 3


@pytest.mark.usefixtures("on_virtual_time")
def test_a_server_that_drips_its_headers_times_out() -> None:
    def drip(connection: socket.socket, _: str) -> None:
        for letter in b"HTTP/1.1 200 OK\r\nx-slow: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa":
            connection.sendall(bytes([letter]))
            pause(0.1)

    with serving(drip) as (port, _):
        assert _ask(f"localhost:{port}", within_s=0.5) == Failure(
            "time-out", "did not answer within 0.5 s"
        )


@pytest.mark.usefixtures("on_virtual_time")
def test_a_server_that_says_nothing_times_out() -> None:
    with serving(silence) as (port, _):
        assert _ask(f"localhost:{port}", within_s=0.3) == Failure(
            "time-out", "did not answer within 0.3 s"
        )


def test_a_port_with_nothing_behind_it_refuses() -> None:
    found = _ask(f"localhost:{closed_port()}")
    assert isinstance(found, Failure)
    assert (found.kind, "nothing listens on that port" in found.why) == ("refused", True)


def test_a_name_that_does_not_resolve_says_so() -> None:
    found = _ask("http://no-such-host.invalid:8000")
    assert isinstance(found, Failure)
    assert (found.kind, "does not resolve" in found.why) == ("no-name", True)


@pytest.mark.parametrize("handle", [reset, lambda connection, _: connection.close()])
def test_a_connection_that_ends_before_the_answer_says_so(handle: Handler) -> None:
    with serving(handle) as (port, _):
        found = _ask(f"localhost:{port}")
    assert isinstance(found, Failure)
    assert found.kind == "reset"


@pytest.mark.parametrize("raw", [b"\x15\x03\x01\x00\x02\x02\x50" * 4, b"HTTP/9.9 what\r\n\r\n"])
def test_what_does_not_speak_http_says_so(raw: bytes) -> None:
    with serving(always(raw)) as (port, _):
        found = _ask(f"localhost:{port}")
    assert isinstance(found, Failure)
    assert "not in HTTP" in found.why


def test_a_plain_server_asked_for_tls_says_so() -> None:
    with serving(always(answer(METRICS))) as (port, _):
        found = _ask(f"https://localhost:{port}")
    assert isinstance(found, Failure)
    assert found == Failure("tls", "does not speak TLS; try http:// instead of https://")


@pytest.mark.parametrize(("waits", "kind"), [(True, "time-out"), (False, "reset")])
def test_a_handshake_that_comes_to_nothing_may_come_to_something_later(
    waits: bool, kind: str, request: pytest.FixtureRequest
) -> None:
    if waits:
        request.getfixturevalue("on_virtual_time")
    with socket.create_server(("localhost", 0)) as server:
        taken: list[socket.socket] = []

        def take() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                if waits:
                    taken.append(connection)
                else:
                    connection.recv(4096)
                    connection.close()

        threading.Thread(target=take, daemon=True).start()
        found = _ask(f"https://localhost:{server.getsockname()[1]}")
        for connection in taken:
            connection.close()
    assert isinstance(found, Failure)
    assert found.kind == kind, found


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A self-signed certificate with its key."""
    if shutil.which("openssl") is None:
        pytest.skip("no openssl here to make a certificate with")
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    making = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
        "-addext",
        "subjectAltName=DNS:localhost",
    ]
    subprocess.run(
        [*making, "-keyout", str(path), "-out", str(path) + ".crt"], check=True, capture_output=True
    )
    path.write_text(path.read_text() + Path(f"{path}.crt").read_text())
    return path


def test_a_certificate_that_nobody_signed_is_said_with_what_to_do(certificate: Path) -> None:
    secure = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    secure.load_cert_chain(certificate)
    with serving(always(answer(METRICS)), secure) as (port, _):
        found = _ask(f"https://localhost:{port}")
    assert isinstance(found, Failure)
    assert found.kind == "tls"
    assert "set SSL_CERT_FILE" in found.why


def test_a_certificate_that_is_trusted_is_taken(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", f"{certificate}.crt")
    secure = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    secure.load_cert_chain(certificate)
    with serving(always(answer(METRICS)), secure) as (port, _):
        found = _ask(f"https://localhost:{port}")
    assert isinstance(found, Answer)
    assert found.text == METRICS


def test_a_redirect_on_the_same_host_is_followed_and_no_other() -> None:
    def moved(connection: socket.socket, request: str) -> None:
        there = " /metrics/ " in request.splitlines()[0]
        connection.sendall(
            answer(METRICS)
            if there
            else answer("", "307 Temporary Redirect", more="location: /metrics/\r\n")
        )

    with serving(moved) as (port, seen):
        found = _ask(f"localhost:{port}")
    assert isinstance(found, Answer)
    assert (found.text, len(seen)) == (METRICS, 2)
    with serving(
        always(answer("", "302 Found", more="location: https://login.example/?token=secret\r\n"))
    ) as (port, _):
        why = (
            "sends its callers on to https://login.example/; give the address of the engine itself"
        )
        assert _ask(f"localhost:{port}") == Failure("redirect", why)
    with serving(always(answer("", "302 Found", more="location: /metrics\r\n"))) as (port, seen):
        found = _ask(f"localhost:{port}")
    assert isinstance(found, Failure)
    assert (found.kind, len(seen)) == ("redirect", 4)


def test_a_proxy_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://localhost:{closed_port()}")
    with serving(always(answer(METRICS))) as (port, _):
        assert isinstance(_ask(f"localhost:{port}"), Answer)


def test_json_is_decoded_or_none() -> None:
    assert Answer(200, "", b'{"a": 1}').json() == {"a": 1}
    assert Answer(200, "", b"{").json() is None
    assert Answer(200, "", b"[" * 100_000).json() is None


@pytest.mark.parametrize(
    ("target", "user", "follows"),
    [
        ("http://a:8000/y", ("u", "p"), True),
        ("http://a:9000/y", ("u", "p"), False),
        ("https://a:8000/y", ("u", "p"), False),
        ("http://b:8000/y", ("u", "p"), False),
        ("http://a:9000/y", None, True),
        ("http://b:8000/y", None, False),
        ("http://a:99999/y", ("u", "p"), False),
    ],
)
def test_credentials_follow_only_the_exact_origin(
    target: str, user: tuple[str, str] | None, follows: bool
) -> None:
    asked: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return (
            httpx.Response(302, headers={"location": target})
            if request.url.path == "/x"
            else httpx.Response(200)
        )

    async def go() -> Answer | Failure:
        session = httpx.AsyncClient(
            transport=httpx.MockTransport(answer), auth=httpx.BasicAuth(*user) if user else None
        )
        return await ask(session, "http://a:8000/x", within_s=1)

    found = asyncio.run(go())
    assert isinstance(found, Answer) is follows
    assert len(asked) == (2 if follows else 1)


def test_a_slow_tls_handshake_is_no_firewall() -> None:
    assert connect_s("http://a:8000") == CONNECT_S < connect_s("https://a:8000/metrics")
    plain = httpx.ConnectTimeout("", request=httpx.Request("GET", "http://a:8000"))
    secure = httpx.ConnectTimeout("", request=httpx.Request("GET", "https://a:8443"))
    assert failure_of(plain).why == (
        "did not take the connection within 3 s (a firewall, or a network that is not reachable "
        "from here?)"
    )
    assert failure_of(secure).why == (
        "did not take the connection within 10 s (a firewall, a network that is not reachable "
        "from here, or a TLS handshake that takes longer?)"
    )
    assert failure_of(httpx.PoolTimeout("")).kind == "time-out"
