"""Whatever a server answers instead of series is one sentence that says what to do."""

from __future__ import annotations

import asyncio

import pytest
from tests.support.small_servers import always, answer, serving

from barostat.core.errors import OutsideError
from barostat.core.signal import Point
from barostat.io.engine_http.http import Answer, Failure
from barostat.io.prometheus import client
from barostat.io.prometheus.access import PrometheusAccess
from barostat.io.prometheus.client import MAX_BYTES, Prometheus, _within
from barostat.judge.history.series import Series


def read(answer: Answer | Failure) -> str:
    with pytest.raises(OutsideError) as told:
        Prometheus(PrometheusAccess("http://p:9090"))._read(answer)
    return f"{told.value}{' [again]' if told.value.retryable else ''}"


@pytest.mark.parametrize(
    ("status", "body", "words", "again"),
    [
        (401, b"", "--prometheus-auth FILE", False),
        (401, b"no org id\n", "--prometheus-tenant ID", False),
        (404, b"404 page not found", "under a prefix", False),
        (
            429,
            b'{"status":"error","error":"too many outstanding requests"}',
            "too many outstanding",
            True,
        ),
        (
            422,
            b'{"status":"error","error":"query processing would load too many samples into memory"}',
            "ask for less",
            False,
        ),
        (503, b"", "HTTP 503", True),
        (
            503,
            b'{"status":"error","errorType":"timeout","error":"query timed out in expression evaluation"}',
            "ask for less",
            True,
        ),
        (200, b"<html>login</html>", "a web page", False),
        (200, b'{"status":"success","data":{}}', "not understood", False),
        (200, b'{"status":"succ', "instead of JSON", False),
        (302, b"", "HTTP 302", False),
    ],
)
def test_a_refusal_is_a_sentence(status: int, body: bytes, words: str, again: bool) -> None:
    told = read(Answer(status, "", body))
    assert words in told
    assert told.endswith("[again]") is again
    assert "\n" not in told


def test_an_answer_that_is_cut_or_does_not_come() -> None:
    assert "ask for less" in read(
        Answer(200, "", b"x" * MAX_BYTES, "the answer is larger than 96 MiB")
    )
    assert read(Answer(200, "", b"x", "the connection broke off")).endswith("[again]")
    assert "--prometheus-ca FILE" in read(
        Failure("tls", "has a certificate that this machine does not trust (self-signed); set X")
    )
    assert read(Failure("refused", "refuses the connection")).endswith("[again]")


def test_series_warnings_and_what_is_none() -> None:
    server = Prometheus(PrometheusAccess("http://p:9090"))
    body = (
        b'{"status":"success","warnings":["store x is gone"],"data":{"result":[{"metric":{"__name__":"a","pod":"p"},"values":[[1,"2"],'
        b'[3,"NaN"],["x","1"]]},{"metric":{},"value":[5,"+Inf"]},{"metric":{}},7]}}'
    )
    found = server._read(Answer(200, "application/json", body))
    assert [(one.name, [point.at for point in one.points]) for one in found] == [
        ("a", [1.0, 3.0]),
        ("", [5.0]),
    ]
    assert server.warnings == ["Prometheus at http://p:9090 says: store x is gone"]


def test_a_partial_answer_of_victoriametrics_is_said() -> None:
    server = Prometheus(PrometheusAccess("http://p:9090"))
    server._read(Answer(200, "", b'{"status":"success","isPartial":true,"data":{"result":[]}}'))
    server._read(Answer(200, "", b'{"status":"success","isPartial":false,"data":{"result":[]}}'))
    assert server.warnings == [
        "Prometheus at http://p:9090 says: a part of its storage did not answer"
    ]


@pytest.mark.parametrize(
    "series",
    [
        b'{"metric":{},"values":[{"a":1}]}',
        b'{"metric":{},"values":7}',
        b'{"metric":{},"value":{"a":1}}',
    ],
)
def test_what_is_no_series_of_numbers_is_left_out(series: bytes) -> None:
    body = b'{"status":"success","warnings":7,"data":{"result":[' + series + b"]}}"
    assert (
        Prometheus(PrometheusAccess("http://p:9090"))._read(Answer(200, "application/json", body))
        == []
    )


def test_what_comes_of_another_time_is_left_out() -> None:
    """A point beyond the calendar had no hour of the day."""
    found = [
        Series({"a": "1"}, (Point(-1e300, 1.0), Point(10.0, 2.0), Point(1e300, 3.0))),
        Series({"a": "2"}, (Point(99.0, 1.0),)),
    ]
    assert _within(found, 5.0, 20.0) == [Series({"a": "1"}, (Point(10.0, 2.0),))]


@pytest.mark.parametrize(
    ("body", "times"),
    [(b"busy", 3), (b'{"status":"error","error":"query timed out in expression evaluation"}', 1)],
)
def test_a_query_that_took_the_server_too_long_is_not_asked_again(
    body: bytes, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def query(port: int) -> None:
        server = Prometheus(PrometheusAccess(f"http://127.0.0.1:{port}"))
        try:
            await server.at("up", 1.0)
        finally:
            await server.close()

    monkeypatch.setattr(client, "LONGEST_PAUSE_S", 0.01)
    with serving(always(answer(body, "503 Service Unavailable"))) as (port, requests):
        with pytest.raises(OutsideError, match="HTTP 503"):
            asyncio.run(query(port))
        assert len(requests) == times
