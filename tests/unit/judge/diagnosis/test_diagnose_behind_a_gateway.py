"""Several replicas behind one gateway: its figures are of all of them, and blame nothing before
those that are well.
"""

from __future__ import annotations

import pytest

from barostat.judge.diagnosis.diagnose import diagnose
from barostat.judge.evidence.recording import Recording, ReplicaRecording, Scrape
from barostat.platform.access_log import AccessLogDigest, AccessSlice

AT = 1_795_253_041.0
FAILING = AccessSlice(AT - 60, 1000, 250, 0, 0, {}, {})
SLOW_BEFORE = AccessSlice(AT - 60, 1000, 250, 0, 0, {24: 1000}, {5: 1000})
"""Eight seconds, of which the engines have a tenth."""


def well(name: str, errors: int = 0) -> ReplicaRecording:
    """An engine that works; its server counts what it answered, `errors` of them 5xx within the
    window.
    """
    labels = '{engine="0",model_name="m"}'
    scrapes = []
    for place in range(4):
        figures = {
            "num_requests_running": 4, "num_requests_waiting": 0, "kv_cache_usage_perc": 0.2,
            "generation_tokens_total": 1000 + 500 * place, "request_success_total": 100 + 30 * place,
        }  # fmt: skip
        page = "".join(f"vllm:{metric}{labels} {value}\n" for metric, value in figures.items())
        page += (
            f'http_requests_total{{handler="/v1/completions",status="2xx"}} {100 + 30 * place}\n'
        )
        page += (
            f'http_requests_total{{handler="/v1/completions",status="5xx"}} '
            f"{errors * place / 3:.0f}\n"
        )
        scrapes.append(Scrape(AT - 5 * (3 - place), page, name))
    return ReplicaRecording(name, version="0.32.0", scrapes=tuple(scrapes))


def silent(name: str) -> ReplicaRecording:
    return ReplicaRecording(
        name, failed_scrapes=tuple((AT - 5 * place, "connection refused") for place in (2, 1, 0))
    )


@pytest.mark.parametrize(
    ("others", "seen", "cause"),
    [
        ((silent("b"),), FAILING, "healthy-busy"),
        ((well("b"),), FAILING, "network-or-gateway"),
        ((), FAILING, "network-or-gateway"),
        ((silent("b"),), SLOW_BEFORE, "network-or-gateway"),
    ],
)
def test_a_sick_replica_explains_what_the_gateway_saw(
    others: tuple[ReplicaRecording, ...], seen: AccessSlice, cause: str
) -> None:
    gateway = AccessLogDigest(
        "gateway.log", 1000, 1000, slices=(seen,), first_at=AT - 60, last_at=AT - 50
    )
    found = diagnose(Recording("test", AT, (well("a"), *others), gateway=gateway)).replicas[0]
    assert found.diagnosis.cause == cause
    ruled_out = {one.cause: one.because for one in found.ruled_out}
    if cause == "healthy-busy":
        said = (
            "the gateway's figures are of all replicas, and b (not well, cause unknown) "
            "explains them"
        )
        assert ruled_out["network-or-gateway"] == said


def test_an_engine_with_errors_of_its_own_is_not_well_because_another_is_sick() -> None:
    gateway = AccessLogDigest(
        "gateway.log", 1000, 1000, slices=(FAILING,), first_at=AT - 60, last_at=AT - 50
    )
    found = diagnose(
        Recording("test", AT, (well("a", errors=9), silent("b")), gateway=gateway)
    ).replicas[0]
    assert not found.diagnosis.cause.startswith("healthy")
