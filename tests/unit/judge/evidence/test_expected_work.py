"""The step model held against what an engine did: from scrapes to the signal, the symptom and the cause."""

from __future__ import annotations

import pytest

from barostat.core.diagnosis import ReplicaReport
from barostat.core.verdict import Absent, Present
from barostat.judge.diagnosis.diagnose import diagnose
from barostat.judge.evidence.assemble import windows
from barostat.judge.evidence.recording import Recording, ReplicaRecording, Scrape
from barostat.symptoms.slower_than_card import judge

AT = 1_795_253_041.0
ARGS = ("vllm", "serve", "Qwen/Qwen3-32B", "--tensor-parallel-size", "2", "--max-model-len", "16384")


def scrapes(prompts_per_s: float, generated_per_s: float, running: int, waiting: int = 0, usage: float = 0.04) -> tuple[Scrape, ...]:
    """Six scrapes, 15 s apart, of an engine at constant rates."""
    made = []
    for place in range(6):
        passed_s = 15.0 * place
        lines = (
            f'vllm:num_requests_running{{engine="0",model_name="m"}} {running}',
            f'vllm:num_requests_waiting{{engine="0",model_name="m"}} {waiting}',
            f'vllm:kv_cache_usage_perc{{engine="0",model_name="m"}} {usage}',
            f'vllm:prompt_tokens_total{{engine="0",model_name="m"}} {prompts_per_s * passed_s:.0f}',
            f'vllm:generation_tokens_total{{engine="0",model_name="m"}} {generated_per_s * passed_s:.0f}',
            'vllm:num_preemptions_total{engine="0",model_name="m"} 0',
        )
        made.append(Scrape(AT - 75 + passed_s, "\n".join(lines) + "\n", "x"))
    return tuple(made)


def recording(gpu: str | None, version: str | None, *rates: float) -> Recording:
    prompts, generated, running, waiting = rates
    texts = scrapes(prompts, generated, int(running), int(waiting))
    return Recording("test", AT, (ReplicaRecording("a", args=ARGS, gpu=gpu, version=version, scrapes=texts),))


def report(*rates: float) -> ReplicaReport:
    return diagnose(recording("H100", "0.19.0", *rates)).replicas[0]


def expected(*rates: float, gpu: str | None = "H100", version: str | None = "0.19.0") -> float | None:
    recorded = recording(gpu, version, *rates)
    found, _ = windows(recorded, recorded.replicas[0])
    seen = next(iter(found.values())).fresh("expected_work_ratio")
    return None if seen is None else seen.mean


def test_an_engine_that_does_what_its_card_can_needs_all_of_its_time() -> None:
    # Measured elsewhere: 16 clients of this model on two H100 have a token every 17 ms, at 1,024 prompt tokens for as many answered.
    assert expected(900, 900, 16, 0) == pytest.approx(1.0, abs=0.35)


def test_work_grows_with_each_rate() -> None:
    idle, prompts, tokens = expected(100, 100, 8, 0), expected(2000, 100, 8, 0), expected(100, 300, 8, 0)
    assert idle is not None
    assert prompts is not None
    assert tokens is not None
    assert idle < prompts
    assert idle < tokens


@pytest.mark.parametrize(
    ("gpu", "version"), [(None, "0.19.0"), ("H100", None), ("an abacus", "0.19.0"), ("NVIDIA H100 80GB HBM3 MIG 2", "0.19.0")]
)
def test_nothing_is_expected_of_what_is_not_known(gpu: str | None, version: str | None) -> None:
    assert expected(400, 20, 8, 0, gpu=gpu, version=version) is None


def test_prompts_that_wait_for_slow_steps_are_not_called_prefill_bound() -> None:
    found = report(400, 20, 8, 40)
    assert found.diagnosis.cause != "prefill-bound"
    assert found.diagnosis.cause == "unknown"


def test_prompts_that_wait_for_steps_full_of_prompts_still_are() -> None:
    assert report(14_000, 150, 8, 40).diagnosis.cause == "prefill-bound"


def test_the_symptom_says_how_many_times_too_slow_and_a_right_engine_has_none() -> None:
    slow, right = recording("H100", "0.19.0", 400, 20, 8, 40), recording("H100", "0.19.0", 900, 900, 16, 0)
    of = [next(iter(windows(one, one.replicas[0])[0].values())) for one in (slow, right)]
    verdicts = [judge(window) for window in of]
    assert isinstance(verdicts[0], Present)
    assert "times as long as this card should need" in verdicts[0].because
    assert isinstance(verdicts[1], Absent)
