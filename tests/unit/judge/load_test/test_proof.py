"""What a validation's phases prove."""

from __future__ import annotations

from typing import Any

import pytest

from barostat.core.limits import LimitsSpec, ServiceLevel, ServingLimits
from barostat.judge.load_test.figures import Collected, Reading, Sent, figures
from barostat.judge.load_test.proof import Phase, Proof, beyond, proved

LIMITS = ServingLimits(LimitsSpec(slo=ServiceLevel(1.0, 0.1)))
CALM = [Reading(0, 0.5, 1, 0, 7), Reading(1, 0.6, 1, 0, 7)]


def sent(ttft_s: float = 0.1, fate: str = "ok") -> Sent:
    return Sent(
        0,
        0,
        10,
        5,
        first_s=ttft_s,
        last_s=ttft_s,
        ended_s=ttft_s,
        produced=5,
        fate=fate,  # type: ignore[arg-type]
        reason="500" if fate == "error" else "",
    )


def phase(*all_sent: Sent, **rest: Any) -> Phase:
    made = all_sent or tuple(sent() for _ in range(30))
    return Phase(
        "worst-mix",
        "t",
        figures(Collected(list(made), **{"duration_s": 5.0, "readings": CALM, **rest})),
    )


def failing(proof: Proof) -> list[str]:
    return [check.name for check in proof.checks if check.standing in ("fail", "unknown")]


def test_what_is_answered_in_time_without_preemptions_passes() -> None:
    proof = proved([phase()], LIMITS)
    assert proof.verdict == "pass"
    assert failing(proof) == []


@pytest.mark.parametrize(
    ("made", "names", "verdict"),
    [
        (phase(*(sent(1.5) for _ in range(30))), ["ttft-p99"], "fail"),
        (phase(*(sent() for _ in range(30)), sent(fate="error")), ["answered"], "fail"),
        (phase(*(sent() for _ in range(30)), sent(fate="cut")), ["answered"], "fail"),
        (phase(readings=[*CALM, Reading(2, 1.0, 9, 9, 9)]), ["preemptions"], "fail"),
        (phase(interrupted=True), ["whole"], "unknown"),
        (phase(lags_s=[0.5]), ["sender"], "unknown"),
        (
            phase(
                *(
                    Sent(0, 0.2, 10, 5, first_s=1.2, last_s=1.2, ended_s=1.2, fate="ok")
                    for _ in range(30)
                )
            ),
            ["ttft-p99"],
            "unknown",
        ),
    ],
)
def test_what_fails_and_what_cannot_be_told(made: Phase, names: list[str], verdict: str) -> None:
    proof = proved([made], LIMITS)
    assert failing(proof) == names
    assert proof.verdict == verdict


@pytest.mark.parametrize(("late_s", "verdict"), [(0.0, "fail"), (0.3, "unknown")])
def test_ever_more_under_way_is_the_engines_fault_only_where_the_sender_kept_up(
    late_s: float, verdict: str
) -> None:
    growing = [
        Sent(
            place / 20,
            place / 20 + late_s,
            1,
            1,
            first_s=place / 20 + 0.4,
            last_s=place / 5 + 1,
            ended_s=place / 5 + 1,
            fate="ok",
        )
        for place in range(400)
    ]
    made = figures(Collected(growing, duration_s=81.0, readings=CALM))
    proof = proved([Phase("mixed", "t", made, per_slot=False)], LIMITS)
    assert "keeps-up" in failing(proof)
    assert proof.verdict == verdict


def test_nothing_measured_proves_nothing() -> None:
    assert proved([], LIMITS).verdict == "unknown"
    blind = proved([phase(readings=[])], LIMITS)
    assert blind.verdict == "pass"
    assert any(check.standing == "note" and "not known" in check.told for check in blind.checks)


def test_a_request_beyond_the_limits_should_be_refused() -> None:
    refused = figures(
        Collected([Sent(0, 0, 700, 1, fate="refused", reason="400 input-limit")], duration_s=1)
    )
    assert beyond("input-limit", "request.maxInputTokens", 700, refused).standing == "pass"
    for fate in ("ok", "cut"):  # it was let in, whether it ended in time or not
        taken = beyond(
            "input-limit",
            "request.maxInputTokens",
            700,
            figures(Collected([sent(fate=fate)], duration_s=1)),
        )
        assert taken.standing == "note"
        assert "request.maxInputTokens" in taken.told
