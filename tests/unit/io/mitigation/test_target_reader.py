"""A look at an API server that is away is taken again, and whoever waits is told so once."""

from __future__ import annotations

import asyncio

from barostat.io.kubernetes.client.failures import RequestFailed
from barostat.io.mitigation.target_reader import ActTiming, patient
from barostat.platform.objects import Object

AWAY = RequestFailed("refused", "cannot get configmaps in x: nothing listens on that port")


def looked(
    *answers: Object | RequestFailed, patience_s: float = 5.0
) -> tuple[Object | RequestFailed, list[str]]:
    left = list(answers)
    told: list[str] = []

    async def look() -> Object | RequestFailed:
        return left.pop(0)

    pace = ActTiming(poll_s=0.01, patience_s=patience_s)
    return asyncio.run(patient(look, pace, told.append)), told


def test_who_waits_for_an_api_server_that_is_away_is_told_once() -> None:
    found, told = looked(AWAY, AWAY, {"kind": "ConfigMap"})
    assert found == {"kind": "ConfigMap"}
    assert told == [
        "asked again for up to 5 s: cannot get configmaps in x: nothing listens on that port"
    ]


def test_what_is_answered_at_once_or_given_up_at_once_needs_no_word() -> None:
    assert looked({"kind": "ConfigMap"}) == ({"kind": "ConfigMap"}, [])
    assert looked(RequestFailed("forbidden", "no")) == (RequestFailed("forbidden", "no"), [])
    assert looked(AWAY, patience_s=-1.0) == (AWAY, [])
