"""What goes out and what comes in: signed, retried, without secrets; tokens, sizes, other documents."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

import httpx
import jsonschema
import pytest

from barostat.io.clock import SteadyClock
from barostat.operator.incident import (
    EvidenceRow,
    IncidentPlan,
    IncidentSpec,
    IncidentStatus,
    IncidentTarget,
    PressureIncident,
    as_document,
    crd,
    from_document,
)
from barostat.operator.listening import FiringAlert, Listening
from barostat.operator.notifications import Form, Notifications, Webhook, message

INCIDENT = PressureIncident(
    "inference",
    "vllm-20261127-180510",
    IncidentSpec(
        IncidentTarget("apps/v1", "Deployment", "vllm", "u1"),
        "kv-preemption-thrash",
        "critical",
        "2026-11-27T18:05:10Z",
        "2026-11-27T18:05:10Z",
    ),
    IncidentStatus(
        cause="kv-preemption-thrash",
        summary="44 preemptions with --api-key sk-abcdefghijklmnopqrstuvwxyz123456 in the log",
        plan=IncidentPlan("edge", "edge: {kvTokenBudget: 4096}"),
    ),
)


def test_an_incident_is_read_as_it_was_written() -> None:
    document: dict[str, Any] = {
        "metadata": {"namespace": INCIDENT.namespace, "name": INCIDENT.name},
        "spec": as_document(INCIDENT.spec),
        "status": as_document(INCIDENT.status),
    }
    assert from_document(document) == INCIDENT
    spoiled: tuple[dict[str, Any], ...] = (
        {},
        {"spec": 4},
        {"spec": {"targetRef": []}},
        {**document, "status": {"evidence": "x"}},
    )
    assert [from_document(one) for one in spoiled] == [None] * len(spoiled)


def test_what_is_written_is_what_the_crd_takes() -> None:
    """Also where a text that has to be there is empty."""
    (version,) = crd()["spec"]["versions"]
    schema = version["schema"]["openAPIV3Schema"]
    rows = (EvidenceRow("kv_usage_ratio", "0.99 ratio", ""),)
    incident = replace(INCIDENT, status=replace(INCIDENT.status, evidence=rows))
    incident = incident.with_condition("Harmful", "True", "HarmDetected", "x" * 5000, 1.8e9)
    document = {"spec": as_document(incident.spec), "status": as_document(incident.status)}
    jsonschema.validate(document, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**document, "status": {"phase": "Fine"}}, schema)


@pytest.mark.parametrize("form", ["slack", "alertmanager"])
@pytest.mark.parametrize("firing", [True, False])
def test_a_message_names_cause_target_and_step_and_no_secret(form: Form, firing: bool) -> None:
    said = json.dumps(message(form, INCIDENT, firing=firing))
    for word in ("kv-preemption-thrash", "vllm", "inference", "kvTokenBudget: 4096", INCIDENT.name):
        assert word in said
    assert "sk-abcdefghijklmnopqrstuvwxyz" not in said
    assert ("FIRING" in said) is firing


def test_messages_are_signed_and_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([500, 429, 204])
    got: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        got.append(request)
        return httpx.Response(next(answers))

    own = httpx.AsyncClient
    monkeypatch.setattr(
        httpx, "AsyncClient", lambda **_: own(transport=httpx.MockTransport(answer))
    )
    monkeypatch.setattr("barostat.operator.notifications.FIRST_WAIT_S", 0.001)

    async def go() -> Notifications:
        made = Notifications(
            (Webhook("slack", "http://hooks.example/T0", "hush"),), SteadyClock(), lambda _: None
        )
        made.put(INCIDENT, firing=True)
        task = asyncio.create_task(made.run())
        while made.sent + made.lost < 1:
            await asyncio.sleep(0.01)
        task.cancel()
        return made

    made = asyncio.run(go())
    assert (made.sent, made.lost, len(got)) == (1, 0, 3)
    fields = dict(part.split("=", 1) for part in got[-1].headers["x-barostat-signature"].split(","))
    signed = hmac.new(b"hush", f"{fields['t']}.".encode() + got[-1].content, hashlib.sha256)
    assert fields["v1"] == signed.hexdigest()


def test_a_full_queue_loses_messages_and_counts_them() -> None:
    made = Notifications((Webhook("slack", "http://x"),), SteadyClock(), lambda _: None)
    for _ in range(150):
        made.put(INCIDENT, firing=True)
    assert made.lost == 50


def on_a_port(
    what: Callable[[httpx.AsyncClient, list[FiringAlert]], Coroutine[Any, Any, None]],
    **more: Any,
) -> None:
    async def go() -> None:
        fired: list[FiringAlert] = []
        asked = {"host": "127.0.0.1", "token": "", **more}
        door = Listening(
            asked["host"], 0, lambda: "x 1\n", lambda: "", fired.extend, asked["token"]
        )
        await door.start()
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{door.bound}") as client:
            await what(client, fired)
        await door.stop()

    asyncio.run(go())


WEBHOOK = {
    "version": "4",
    "alerts": [
        {"status": "firing", "labels": {"alertname": "VllmDown", "pod": "vllm-0", "odd": 3}},
        {"status": "resolved", "labels": {"alertname": "Old"}},
        {"status": "firing"},
    ],
}


def test_alerts_that_fire_are_taken() -> None:
    async def go(client: httpx.AsyncClient, fired: list[FiringAlert]) -> None:
        assert (await client.get("/metrics")).text == "x 1\n"
        assert (await client.get("/readyz")).status_code == 200
        assert (await client.get("/nope")).status_code == 404
        assert (await client.post("/metrics")).status_code == 405
        assert (await client.post("/alertmanager", json=WEBHOOK)).status_code == 200
        assert fired == [FiringAlert("VllmDown", {"alertname": "VllmDown", "pod": "vllm-0"})]
        for body in ("", "{", "[]", '{"alerts": 3}', "[" * 100_000):
            assert (await client.post("/alertmanager", content=body)).status_code == 400
        assert (await client.post("/alertmanager", content=b"x" * (2 << 20))).status_code == 413
        assert len(fired) == 1

    on_a_port(go)


def test_with_a_token_only_who_has_it_may_post() -> None:
    async def go(client: httpx.AsyncClient, fired: list[FiringAlert]) -> None:
        for header in ({}, {"authorization": "Bearer wrong"}, {"authorization": "secret"}):
            posted = await client.post("/alertmanager", json=WEBHOOK, headers=header)
            assert posted.status_code == 401
        assert not fired
        right = {"authorization": "Bearer secret"}
        assert (await client.post("/alertmanager", json=WEBHOOK, headers=right)).status_code == 200

    on_a_port(go, token="secret")


def test_beyond_loopback_the_webhook_is_closed_without_a_token() -> None:
    async def go(client: httpx.AsyncClient, fired: list[FiringAlert]) -> None:
        assert (await client.post("/alertmanager", json=WEBHOOK)).status_code == 403
        assert not fired

    on_a_port(go, host="0.0.0.0")
