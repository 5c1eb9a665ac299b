"""Limits at a gateway come with the command that sets them there."""

from __future__ import annotations

from barostat.catalog.signals import signal
from barostat.core.diagnosis import NextStep
from barostat.core.object_reference import ObjectReference
from barostat.core.proposed_change import SetEdgeLimit, SetFlag
from barostat.core.prose import Prose
from barostat.core.window import Window
from barostat.judge.diagnosis.at_the_gateway import is_seen, live_steps

CAP = NextStep(
    "edge-output-cap",
    SetEdgeLimit("request.maxOutputTokens", 512),
    Prose("95 % have at most 500"),
    restarts=False,
)
SLOTS = NextStep("max-num-seqs", SetFlag("max_num_seqs", 16), Prose("fewer"), restarts=True)
VLLM = ObjectReference("deployment", "vllm", "inference")


def window(*, gateway: bool = True, workload: ObjectReference | None = VLLM) -> Window:
    found = signal("gateway_active_requests", [(1.0, 3.0)], "g")
    assert found is not None
    signals = {found.name: found} if gateway else {}
    return Window("vllm-0", 2.0, signals, pod="inference/vllm-0", workload=workload)


def test_the_command_can_be_pasted() -> None:
    cap, slots = live_steps((CAP, SLOTS), window())
    command = (
        "barostat mitigate deploy/vllm -n inference --lever edge-output-cap=512 "
        "--gateway-token-file FILE"
    )
    assert str(cap.because) == f"95 % have at most 500. Live, at the gateway before it: {command}"
    assert slots == SLOTS


def test_without_a_gateway_or_a_deployment_the_steps_stay() -> None:
    assert not is_seen(window(gateway=False))
    assert live_steps((CAP,), window(gateway=False)) == (CAP,)
    assert live_steps((CAP,), window(workload=None)) == (CAP,)
    assert live_steps((CAP,), window(workload=ObjectReference("statefulset", "vllm"))) == (CAP,)
