"""Which events are of an object."""

from __future__ import annotations

from typing import Any

from barostat.platform.events import about, read_events
from barostat.platform.kubernetes import signals


def _event(uid: str | None, reason: str = "Evicted") -> dict[str, Any]:
    of = {
        "kind": "Pod",
        "name": "vllm-0",
        "namespace": "x",
        **({"uid": uid} if uid is not None else {}),
    }
    return {
        "involvedObject": of,
        "reason": reason,
        "message": "The node was low on resource: memory.",
        "lastTimestamp": "2026-11-24T10:00:00Z",
    }


def test_what_befell_the_pod_before_it_of_that_name_is_not_its_own() -> None:
    events = read_events({"events": {"items": [_event("old"), _event("new"), _event(None)]}})
    assert [event.uid for event in about(events, "Pod", "vllm-0", "x", "new")] == ["new", ""]
    assert len(about(events, "Pod", "vllm-0", "x")) == 3


def test_a_pod_made_anew_was_not_evicted() -> None:
    pod = {
        "metadata": {"name": "vllm-0", "namespace": "x", "uid": "new"},
        "spec": {"containers": [{"name": "v", "image": "vllm/vllm-openai:v0.32.0", "args": ["m"]}]},
        "status": {
            "phase": "Running",
            "containerStatuses": [
                {"name": "v", "ready": True, "restartCount": 0, "state": {"running": {}}}
            ],
        },
    }
    for uid, evicted in (("old", 0.0), ("new", 1.0)):
        found, _ = signals(
            {"pods": {"items": [pod]}, "events": {"items": [_event(uid)]}},
            "vllm-0",
            1_795_515_000.0,
        )
        assert {one.name: one.last for one in found}["pod_evicted"] == evicted
