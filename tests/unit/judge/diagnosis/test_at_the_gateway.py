"""Steps at a gateway that stands there come with the command that takes them."""

from __future__ import annotations

from barostat.catalog.signals import signal
from barostat.core.diagnosis import NextStep
from barostat.core.window import Window
from barostat.judge.diagnosis.at_the_gateway import is_seen, live_steps

CAP = NextStep("edge-output-cap", "request: {maxOutputTokens: 512}", "95 % have at most 500", False)
SLOTS = NextStep("max-num-seqs", "--max-num-seqs 16", "fewer", True)


def window(*, gateway: bool = True) -> Window:
    found = signal("gateway_active_requests", [(1.0, 3.0)], "g")
    assert found is not None
    return Window("vllm-0", 2.0, {found.name: found} if gateway else {}, pod="inference/vllm-0")


def test_the_command_is_exact() -> None:
    cap, slots = live_steps((CAP, SLOTS), window(), "deploy/vllm -n inference (prod)")
    told = (
        "barostat mitigate deploy/vllm -n inference --lever edge-output-cap=512 "
        "--gateway-token-file FILE"
    )
    assert cap.because == f"95 % have at most 500. Live, at the gateway before it: {told}"
    assert slots == SLOTS


def test_without_a_gateway_or_a_deployment_nothing_is_said() -> None:
    assert not is_seen(window(gateway=False))
    assert live_steps((CAP,), window(gateway=False), "deploy/vllm -n inference (prod)") == (CAP,)
    assert live_steps((CAP,), window(), "http://localhost:8000") == (CAP,)
