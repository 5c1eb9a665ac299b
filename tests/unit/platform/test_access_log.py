"""Access logs of every gateway: status, durations and the upstream's share; never a client, a query
or a path.
"""

# ruff: noqa: E501 (log lines as they are printed)

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barostat.platform.access_line import AccessEntry, access
from barostat.platform.access_log import SLICES_KEPT, digest

AT = 1_795_004_800.0  # 2026-11-18 12:26:40 UTC
NGINX_AT = 1_795_000_800.0  # 18/Nov/2026:11:20:00 UTC
TIME = "18/Nov/2026:11:20:00 +0000"
ISO = "2026-11-18T11:20:00.000Z"


def _access(
    status: int = 200,
    duration_s: float | None = None,
    upstream_s: float | None = None,
    at: float | None = NGINX_AT,
    route: str = "/v1/chat/completions",
) -> AccessEntry:
    return AccessEntry(at, status, route, False, duration_s, upstream_s)


LINES = {
    "common": (f'10.1.2.3 - - [{TIME}] "POST /v1/chat/completions HTTP/1.1" 200 2326', _access()),
    "combined": (f'10.1.2.3 - bob [{TIME}] "POST /v1/completions?api_key=secret HTTP/1.1" 503 19 "-" "python-httpx/0.27"', _access(503, route="/v1/completions")),
    "nginx-ingress": (f'10.1.2.3 - - [{TIME}] "POST /v1/chat/completions HTTP/1.1" 200 2326 "-" "curl/8" 1234 0.532 [llm-vllm-8000] [] 10.0.0.9:8000 2326 0.530 200 abcdef', _access(200, 0.532, 0.530)),
    "nginx-ingress, two upstreams": (f'10.1.2.3 - - [{TIME}] "POST /v1/chat/completions HTTP/1.1" 200 2326 "-" "curl/8" 1234 60.532 [llm-vllm-8000] [] 10.0.0.9:8000, 10.0.0.8:8000 0, 2326 60.000, 0.530 504, 200 abcdef', _access(200, 60.532, 60.530)),
    "nginx-ingress, no upstream answer": (f'10.1.2.3 - - [{TIME}] "POST /v1/chat/completions HTTP/1.1" 499 0 "-" "curl/8" 1234 3.000 [llm-vllm-8000] [] 10.0.0.9:8000 0 - - abcdef', _access(499, 3.0)),
    "rt/urt": (f'10.1.2.3 - - [{TIME}] "POST /v1/chat/completions HTTP/2.0" 200 2326 "-" "curl/8" rt=1.500 uct="0.001" uht="0.2" urt="1.400"', _access(200, 1.5, 1.4)),
    "traefik clf": (f'10.1.2.3 - - [{TIME}] "POST /v1/chat/completions HTTP/1.1" 200 2326 "-" "-" 42 "vllm@docker" "http://10.0.0.9:8000" 1500ms', _access(200, 1.5)),
    "envoy": (f'[{ISO}] "POST /v1/chat/completions HTTP/2" 200 - 154 900 1500 1400 "10.0.35.28" "httpx" "cc21d9b0" "llm" "10.0.2.1:80"', _access(200, 1.5, 1.4)),
    "envoy, client left": (f'[{ISO}] "POST /v1/chat/completions HTTP/2" 0 DC 154 900 1500 - "10.0.35.28" "httpx" "cc21d9b0" "llm" "10.0.2.1:80"', _access(499, 1.5)),
    "istio": (f'[{ISO}] "POST /v1/chat/completions HTTP/1.1" 504 UT response_timeout - "-" 154 24 15000 - "10.1.2.3" "httpx" "id" "llm" "10.0.2.1:8000" outbound', _access(504, 15.0)),
    "uvicorn": ('INFO:     10.1.2.3:4242 - "POST /v1/chat/completions HTTP/1.1" 200 OK', _access(at=None)),
    "nginx json": (json.dumps({"time_iso8601": "2026-11-18T11:20:00+00:00", "remote_addr": "10.1.2.3", "status": "200", "request_time": "1.500", "upstream_response_time": "1.400", "request": "POST /v1/chat/completions HTTP/1.1"}), _access(200, 1.5, 1.4)),
    "envoy json": (json.dumps({"start_time": ISO, "response_code": 503, "response_flags": "UF", "duration": 1500, "x_envoy_upstream_service_time": "1400", "path": "/v1/chat/completions?q=secret"}), _access(503, 1.5, 1.4)),
    "envoy json, upstream timeout": (json.dumps({"start_time": ISO, "response_code": 504, "response_flags": "UT", "duration": 15000, "path": "/v1/chat/completions"}), _access(504, 15.0)),
    "traefik json": (json.dumps({"StartUTC": ISO, "DownstreamStatus": 200, "Duration": 1500000000, "OriginDuration": 1400000000, "RequestPath": "/v1/chat/completions", "ClientAddr": "10.1.2.3:1"}), _access(200, 1.5, 1.4)),
    "caddy": (json.dumps({"ts": NGINX_AT, "status": 200, "duration": 1.5, "request": {"uri": "/v1/chat/completions", "remote_ip": "10.1.2.3"}}), _access(200, 1.5)),
    "litellm": (json.dumps({"status": "success", "startTime": ISO, "endTime": "2026-11-18T11:20:01.500Z", "call_type": "acompletion", "messages": "secret"}), _access(200, 1.5, route="other")),
    "generic": (json.dumps({"time": ISO, "status": 500, "latency": "1500ms", "path": "/v1/chat/completions"}), _access(500, 1.5)),
}  # fmt: skip


@pytest.mark.parametrize("form", LINES)
def test_a_line_of_every_form(form: str) -> None:
    line, expected = LINES[form]
    found = access(line)
    assert found is not None
    assert (found.status, found.route, found.probe) == (
        expected.status,
        expected.route,
        expected.probe,
    )
    assert found.at == expected.at
    assert found.duration_s == pytest.approx(expected.duration_s)
    assert found.upstream_s == pytest.approx(expected.upstream_s)


def test_nothing_that_names_a_client_or_a_query_is_kept() -> None:
    kept = repr(digest([line for line, _ in LINES.values()], source="gateway.log"))
    assert not any(part in kept for part in ("10.1.2.3", "secret", "bob", "curl", "10.0.0.9"))


def test_probes_and_scrapes_are_no_traffic() -> None:
    lines = [
        f'10.1.2.3 - - [{TIME}] "GET {path} HTTP/1.1" 200 2'
        for path in ("/health", "/metrics", "/ping", "/healthz?x=1")
    ]
    lines.append(f'10.1.2.3 - - [{TIME}] "GET / HTTP/1.1" 200 2 "-" "kube-probe/1.31"')
    found = digest(lines, source="x")
    assert (found.probes, found.requests) == (5, 0)
    assert found.signals(AT) == {}


def nginx(second: int, status: int = 200, total_s: float = 1.0, upstream_s: float = 0.9) -> str:
    at = f"18/Nov/2026:11:{20 + second // 60:02d}:{second % 60:02d} +0000"
    return f'10.1.2.3 - - [{at}] "POST /v1/chat/completions HTTP/1.1" {status} 2326 "-" "curl/8" 1 {total_s:.3f} [a] [] 10.0.0.9:80 1 {upstream_s:.3f} {status} id'


def test_shares_rates_and_quantiles() -> None:
    lines = [nginx(i, 503 if i % 10 == 0 else 504 if i % 10 == 1 else 200) for i in range(100)]
    made = digest(lines, source="gateway.log").signals(AT)
    assert made["gateway_5xx_ratio"].last == pytest.approx(0.2)
    assert made["gateway_timeout_ratio"].last == pytest.approx(0.1)
    assert made["gateway_duration_p99_s"].last == pytest.approx(1.0, rel=0.1)
    assert made["gateway_upstream_share_ratio"].last == pytest.approx(0.9, abs=0.03)
    assert made["gateway_requests_per_s"].values == (1.0,) * 9
    assert made["gateway_long_streams"].last == 0
    assert made["gateway_5xx_ratio"].at == NGINX_AT + 99


def test_long_streams_are_counted() -> None:
    assert (
        digest([nginx(0, total_s=301.0), nginx(1)], source="x")
        .signals(AT)["gateway_long_streams"]
        .last
        == 1
    )


def test_only_the_last_quarter_of_an_hour_counts() -> None:
    made = digest(
        [*[nginx(i, 503) for i in range(60)], *[nginx(1200 + i) for i in range(60)]], source="x"
    ).signals(AT)
    assert made["gateway_5xx_ratio"].last == 0


def test_memory_is_bounded() -> None:
    lines = (
        f'1 - - [18/Nov/2026:{i // 360:02d}:{i // 6 % 60:02d}:{i % 6 * 10:02d} +0000] "POST /v1/x/{i} HTTP/1.1" 200 1'
        for i in range(8_000)
    )
    found = digest(lines, source="x")
    assert found.requests == 8_000
    assert len(found.slices) == SLICES_KEPT
    assert set(found.routes) == {"other"}


def test_a_log_of_something_else_says_so() -> None:
    found = digest(["hello world"] * 100, source="x")
    assert found.requests == 0
    assert "no access-log form" in found.problems[0]


@given(st.binary(max_size=2000))
def test_any_bytes_are_read_without_an_error(blob: bytes) -> None:
    digest(blob.decode("utf-8", errors="replace").split("\n"), source="x").signals(AT)


_VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-10, 10**20),
    st.floats(allow_nan=True),
    st.sampled_from(
        [
            "",
            "200",
            "x",
            ISO,
            "1.5s",
            "0.1, -",
            "9" * 30,
            "2026-99-99T00:00:00Z",
            "99/Foo/2026:11:20:00 +0000",
        ]
    ),
    st.just({"uri": 3}),
)
_KEYS = st.sampled_from(
    [
        "status",
        "response_code",
        "duration",
        "latency",
        "time",
        "ts",
        "startTime",
        "endTime",
        "path",
        "request",
        "response_flags",
        "upstream_response_time",
        "DownstreamStatus",
    ]
)


@given(st.lists(st.dictionaries(_KEYS, _VALUES), max_size=5))
def test_any_json_record_is_read_without_an_error(records: list[dict[str, object]]) -> None:
    digest([json.dumps(record) for record in records], source="x").signals(AT)


@given(st.sampled_from(sorted(LINES)), st.integers(0, 300))
def test_half_a_line_is_read_without_an_error(form: str, length: int) -> None:
    digest([LINES[form][0][:length]], source="x").signals(AT)


def test_a_time_of_thousands_of_digits_is_none() -> None:
    line = (
        '10.0.0.1 - - [24/Nov/2026:10:00:00 +0000] "POST /v1/completions HTTP/1.1" 200 5 "-" "-" 1 "r" "http://x" '
        + "9" * 5_000
        + "ms"
    )
    found = access(line)
    assert found is not None
    assert (found.status, found.duration_s) == (200, None)
