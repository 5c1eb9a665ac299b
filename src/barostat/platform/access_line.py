"""One line of an access log, whichever gateway wrote it: time, status, durations. What names a
client or a prompt is never kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

_ROUTES = (
    "/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages", "/v1/embeddings", "/v1/models", "/v1/rerank", "/v1/score",
    "/inference/v1/generate", "/generate", "/tokenize", "/pooling", "/invocations", "/v1/chat/completions/batch",
    "/v1/audio/transcriptions", "/v1/audio/translations",
)  # fmt: skip
_OUR_ROUTES = {
    "chat": "/v1/chat/completions",
    "batch": "/v1/chat/completions/batch",
    "audio": "/v1/audio/transcriptions",
    **{route.rpartition("/")[2]: route for route in _ROUTES[1:8]},
}
"""As the access log of `barostat gateway` calls them."""
_PROBES = (
    "/health",
    "/healthz",
    "/ready",
    "/readyz",
    "/livez",
    "/live",
    "/metrics",
    "/ping",
    "/version",
    "/load",
    "/status",
    "/nginx_status",
)

_CLF = re.compile(
    r'\[(?P<time>\d{1,2}/\w{3}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4})\] "(?P<method>[A-Z]+) (?P<path>\S+)[^"]*" '
    r"(?P<status>\d{3}) (?P<bytes>\d+|-)(?P<rest>.*)"
)
# bytes in, seconds, [upstream] [alternative], then one list each of addresses, lengths, seconds and
# statuses of the upstreams tried
_INGRESS = re.compile(
    r'^(?: "[^"]*" "[^"]*")? \d+ (?P<total>\d+\.\d+) \[[^\]]*\] (?:\[[^\]]*\] )?[^\s,]+(?:(?:, | : )[^\s,]+)* '
    r"(?:\d+|-)(?:(?:, | : )(?:\d+|-))* (?P<upstream>(?:[\d.]+|-)(?:(?:, | : )(?:[\d.]+|-))*) (?:\d+|-)"
)
_NAMED = re.compile(
    r'\b(?P<name>rt|request_time|urt|upstream_response_time|uct|uht)="?(?P<value>\d+\.\d+)'
)
_TRAEFIK_CLF = re.compile(r"\s(?P<ms>\d{1,15})ms\s*$")
_ENVOY = re.compile(
    r'^\[(?P<time>\d{4}-\d\d-\d\dT[\d:.]+Z?)\] "(?P<method>[A-Z]+) (?P<path>\S+)[^"]*" (?P<status>\d+) (?P<flags>\S+) '
    r'(?:\S+ \S+ "[^"]*" )?(?P<in>\d+|-) (?P<out>\d+|-) (?P<ms>\d+|-) (?P<upstream>\d+|-)'
)
_UVICORN = re.compile(r'- "(?P<method>[A-Z]+) (?P<path>\S+) HTTP/[\d.]+" (?P<status>\d{3})\b')
_ISO = re.compile(r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(\.\d+)?\s*(Z|[+-]\d\d:?\d\d)?")
_AMOUNT = re.compile(r"^(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>ns|us|µs|ms|s|m)?$")
_UNIT_S = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0}
_MONTHS = {
    name: number
    for number, name in enumerate(
        ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"), 1
    )
}

# JSON keys, lower case, and the seconds in one of their unit. What several gateways spell alike
# counts in the unit of the commonest.
_TOTAL_KEYS = {
    "request_time": 1.0, "duration_s": 1.0, "latency_s": 1.0, "response_time": 1.0, "latency": 1.0, "elapsed": 1.0,
    "duration_seconds": 1.0, "durationseconds": 1.0,
    "duration_ms": 1e-3, "latency_ms": 1e-3, "request_time_ms": 1e-3, "response_time_ms": 1e-3, "elapsed_ms": 1e-3, "totaltimems": 1e-3,
}  # fmt: skip
_UPSTREAM_KEYS = {
    "upstream_response_time": 1.0, "upstream_service_time": 1e-3, "x_envoy_upstream_service_time": 1e-3,
    "x-envoy-upstream-service-time": 1e-3,
    "upstream_duration_ms": 1e-3, "upstream_latency_ms": 1e-3, "originduration": 1e-9, "llm_api_duration_ms": 1e-3,
}  # fmt: skip
_STATUS_KEYS = (
    "status",
    "response_code",
    "status_code",
    "downstreamstatus",
    "statuscode",
    "code",
    "http_status",
    "response_status",
)
_TIME_KEYS = (
    "time",
    "time_iso8601",
    "start_time",
    "startutc",
    "@timestamp",
    "timestamp",
    "ts",
    "starttime",
    "time_local",
    "msec",
    "at",
)
_PATH_KEYS = (
    "path",
    "request_uri",
    "uri",
    "requestpath",
    "url",
    "route",
    "request",
    "http_path",
    "call_type",
)


@dataclass(frozen=True, slots=True)
class AccessEntry:
    """One answered request. `status` 499: the client disconnected. `probe`: a health check or a
    scrape, which is not traffic.

    `route` is one of vLLM's own routes, or "other": never the path itself.
    """

    at: float | None
    status: int
    route: str
    probe: bool
    duration_s: float | None = None
    upstream_s: float | None = None


def access(line: str) -> AccessEntry | None:
    """Parse the request in an access-log line; None for any other line.

    Reads: common and combined, nginx-ingress, `rt=`/`urt=` forms, Traefik (CLF and JSON), Envoy and
    Istio (text and JSON), uvicorn, and JSON with the usual keys (nginx, Caddy, LiteLLM).
    """
    text = line.strip()
    if text[:1] == "{" or "{" in text[:80]:
        found = _json(text)
        if found is not None:
            return found
    if found_envoy := _ENVOY.match(text):
        return _envoy(found_envoy)
    if found_clf := _CLF.search(text):
        return _clf(found_clf)
    if found_uvicorn := _UVICORN.search(text):
        route, probe = _route(found_uvicorn["path"])
        return AccessEntry(None, int(found_uvicorn["status"]), route, probe)
    return None


def _clf(found: re.Match[str]) -> AccessEntry:
    route, probe = _route(found["path"])
    rest = found["rest"]
    total = upstream = None
    if timed := _INGRESS.match(rest):
        total = _number(timed["total"])
        parts = [_number(part) for part in re.split(r", | : ", timed["upstream"])]
        upstream = (
            sum(part for part in parts if part is not None)
            if any(part is not None for part in parts)
            else None
        )
    elif timed := _TRAEFIK_CLF.search(rest):
        total = int(timed["ms"]) / 1000.0
    else:
        for named in _NAMED.finditer(rest):
            if named["name"] in ("rt", "request_time"):
                total = _number(named["value"])
            elif named["name"] in ("urt", "upstream_response_time"):
                upstream = _number(named["value"])
    return AccessEntry(
        _clf_time(found["time"]),
        int(found["status"]),
        route,
        probe or "kube-probe" in rest,
        total,
        upstream,
    )


def _envoy(found: re.Match[str]) -> AccessEntry:
    route, probe = _route(found["path"])
    status = _envoy_status(int(found["status"]), found["flags"])
    milliseconds = _number(found["ms"])
    upstream = _number(found["upstream"])
    return AccessEntry(
        _iso(found["time"]),
        status,
        route,
        probe,
        None if milliseconds is None else milliseconds / 1000.0,
        None if upstream is None else upstream / 1000.0,
    )


def _envoy_status(status: int, flags: str) -> int:
    """Return the status of an Envoy line: Envoy logs 0 if the client disconnected (DC), and flags
    an upstream time-out (UT) separately from the status.
    """
    if "DC" in flags.split(",") or status == 0:
        return 499
    return 504 if {"UT", "DT", "SI"} & set(flags.split(",")) else status


def _json(text: str) -> AccessEntry | None:
    try:
        record = json.loads(text[text.index("{") :])
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict):
        return None
    flat = {str(key).lower(): value for key, value in record.items()}
    inner = flat.get("request")
    if isinstance(inner, dict):  # Caddy
        flat = {
            **{str(key).lower(): value for key, value in inner.items()},
            **{key: value for key, value in flat.items() if key != "request"},
        }
    status = next(
        (status for key in _STATUS_KEYS if (status := _status(flat.get(key))) is not None), None
    )
    if status is None:
        return None
    if isinstance(flat.get("response_flags"), str):
        status = _envoy_status(status, flat["response_flags"])
    path = next((flat[key] for key in _PATH_KEYS if isinstance(flat.get(key), str)), "")
    route, probe = _route(
        path.split(" ")[1] if path.count(" ") >= 1 and path.split(" ")[0].isupper() else path
    )
    at = next((at for key in _TIME_KEYS if (at := _instant(flat.get(key))) is not None), None)
    return AccessEntry(at, status, route, probe, _total(flat), _duration(flat, _UPSTREAM_KEYS))


def _total(flat: Mapping[str, Any]) -> float | None:
    if (listed := _duration(flat, _TOTAL_KEYS)) is not None:
        return listed
    value = flat.get("duration")
    amount = _amount(value)
    if amount is not None:
        if isinstance(value, str) and not value.replace(".", "").isdigit():
            return amount
        # Traefik counts nanoseconds, Envoy milliseconds, Caddy seconds, under one name
        if "downstreamstatus" in flat:
            return amount * 1e-9
        return amount * 1e-3 if "response_code" in flat or "response_flags" in flat else amount
    began, ended = _instant(flat.get("starttime")), _instant(flat.get("endtime"))  # LiteLLM
    return ended - began if began is not None and ended is not None and ended >= began else None


def _duration(flat: Mapping[str, Any], keys: Mapping[str, float]) -> float | None:
    for key, unit_s in keys.items():
        value = flat.get(key)
        if isinstance(value, str) and (
            "," in value or " : " in value
        ):  # one per upstream that nginx tried
            parts = [
                amount
                for part in re.split(r",| : ", value)
                if (amount := _amount(part.strip())) is not None
            ]
            if parts:
                return sum(parts) * unit_s
        amount = _amount(value)
        if amount is not None:
            has_unit = isinstance(value, str) and value[-1:].isalpha()
            return amount if has_unit else amount * unit_s
    return None


def _amount(value: object) -> float | None:
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return float(value) if 0 <= value < 1e18 else None
    if isinstance(value, str) and (found := _AMOUNT.match(value)):
        return float(found["number"]) * _UNIT_S[found["unit"] or "s"]
    return None


def _status(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        word = value.strip().lower()
        if word in ("success", "ok"):
            return 200
        if word in ("failure", "error"):
            return 500
        value = int(word) if word.isdigit() and len(word) <= 3 else None
    return value if isinstance(value, int) and 0 <= value <= 599 else None


def _route(path: str) -> tuple[str, bool]:
    bare = path.split("?", 1)[0].split("#", 1)[0]
    if "://" in bare:
        bare = "/" + bare.split("://", 1)[1].partition("/")[2]
    bare = bare.rstrip("/") or "/"
    if any(bare == probe or bare.endswith(probe) for probe in _PROBES):
        return bare[bare.rindex("/") :], True
    return _OUR_ROUTES.get(bare) or next(
        (route for route in _ROUTES if bare.endswith(route)), "other"
    ), False


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _instant(value: object) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float) and 1e9 < value < 1e19:
        for limit, unit in ((1e11, 1.0), (1e14, 1e3), (1e17, 1e6)):
            if value < limit:
                return value / unit
        return value / 1e9
    if isinstance(value, str):
        if re.fullmatch(r"\d{10}(?:\.\d+)?", value):
            return float(value)
        return _iso(value) if value[:4].isdigit() and value[4:5] == "-" else _clf_time(value)
    return None


def _iso(text: str) -> float | None:
    found = _ISO.match(text)
    if not found:
        return None
    year, month, day, hour, minute, second, fraction, zone = found.groups()
    try:
        then = datetime(
            int(year), int(month), int(day), int(hour), int(minute), int(second), tzinfo=_zone(zone)
        ).timestamp()
    except (ValueError, OverflowError):
        return None
    return then + (float(fraction) if fraction else 0.0)


def _clf_time(text: str) -> float | None:
    found = re.match(r"(\d{1,2})/(\w{3})/(\d{4}):(\d\d):(\d\d):(\d\d) ([+-]\d{4})", text)
    if not found:
        return None
    day, month, year, hour, minute, second, zone = found.groups()
    try:
        return datetime(
            int(year),
            _MONTHS[month],
            int(day),
            int(hour),
            int(minute),
            int(second),
            tzinfo=_zone(zone),
        ).timestamp()
    except (ValueError, KeyError, OverflowError):
        return None


def _zone(text: str | None) -> timezone:
    if not text or text == "Z":
        return UTC
    offset = timedelta(hours=int(text[1:3]), minutes=int(text[-2:]))
    return timezone(-offset if text[0] == "-" else offset)
