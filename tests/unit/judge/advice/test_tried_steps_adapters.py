"""More LoRA slots for an engine whose slots are full are tried on its twin."""

from __future__ import annotations

from tests.support.watched_engine import Load, Watched

from barostat.core.proposed_change import SetFlag
from barostat.judge.advice.tried_steps import advised
from barostat.twin.linear_pace import LinearPace
from barostat.twin.settings import KvGroup, Settings, for_version

ENGINE = for_version(
    Settings(4000, (KvGroup(16),), 4096, 64, 2048, async_scheduling=True, max_loras=1), "0.32.0"
)


def test_more_slots_are_advised_with_what_they_bring() -> None:
    load = Load((200, 400), (100, 200), clients=12, adapters=3)
    recording = Watched(ENGINE, LinearPace(0.02, 4e-5, 2e-4, 1e-8), load).recording(60, 120)
    (replica,) = advised(recording).report.replicas
    assert (replica.diagnosis.cause, replica.diagnosis.variant) == ("slot-bound", "adapters")
    first = replica.next[0]
    assert first.change == SetFlag("max_loras", 3)
    assert replica.trials is not None
    today = replica.trials.today
    assert today is not None
    assert first.forecast is not None
    expected = first.forecast.expected
    assert today.ttft_mean_s is not None
    assert expected.ttft_mean_s is not None
    assert expected.ttft_mean_s < today.ttft_mean_s / 10
    assert expected.output_tokens_per_s > 1.5 * today.output_tokens_per_s
