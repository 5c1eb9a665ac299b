"""Prompts that are not chunked wait for a step with room for all of them."""

from __future__ import annotations

from tests.scenario.notation import AT

from barostat.catalog.signals import signal
from barostat.core.config import ConfigValue, EngineConfig
from barostat.core.verdict import Absent, Present, Verdict
from barostat.core.window import Window
from barostat.symptoms.prefill_budget_saturated import judge

READINGS = {
    "kv_usage_ratio": 0.4,
    "running_requests": 20.0,
    "capacity_waiting_requests": 16.0,
    "max_running_requests": 256.0,
    "tokens_per_step": 5_480.0,
    "max_batched_tokens": 8_192.0,
}


def _judged(chunked: bool, long_prompt_tokens: float) -> Verdict:
    readings = {**READINGS, "prompt_tokens_p95": long_prompt_tokens}
    made = [
        signal(name, [(AT - 5.0 * k, value) for k in range(6, -1, -1)], "test")
        for name, value in readings.items()
    ]
    config = EngineConfig({"enable_chunked_prefill": ConfigValue(chunked, "flag", "--flag")})
    return judge(Window("r", AT, {one.name: one for one in made if one is not None}, config))


def test_a_prompt_that_does_not_fit_what_is_left_of_a_step_waits_for_it() -> None:
    verdict = _judged(False, 3_900.0)
    assert isinstance(verdict, Present)
    assert "not chunked" in verdict.because
    assert "5480 of 8192" in verdict.because


def test_chunks_and_short_prompts_fit() -> None:
    assert isinstance(_judged(True, 3_900.0), Absent)
    assert isinstance(_judged(False, 900.0), Absent)
