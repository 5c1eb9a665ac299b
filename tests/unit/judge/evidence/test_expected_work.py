"""The step model held against what an engine did: from scrapes to the signal, the symptom and the
cause.
"""

from __future__ import annotations

from typing import Any

import pytest

from barostat.core.diagnosis import ReplicaReport
from barostat.core.verdict import Absent, Present
from barostat.judge.advice.change_text import as_written
from barostat.judge.diagnosis.diagnose import diagnose
from barostat.judge.evidence.assemble import windows
from barostat.judge.evidence.recording import GpuText, Recording, ReplicaRecording, Scrape
from barostat.symptoms.slower_than_card import judge

AT = 1_795_253_041.0
ARGS = (
    "vllm",
    "serve",
    "Qwen/Qwen3-32B",
    "--tensor-parallel-size",
    "2",
    "--max-model-len",
    "16384",
)
EIGHT = ("vllm", "serve", "Qwen/Qwen3-8B", "--max-model-len", "131072")


def scrapes(
    prompts_per_s: float,
    generated_per_s: float,
    running: int,
    waiting: int = 0,
    usage: float = 0.04,
    batch: float | None = None,
) -> tuple[Scrape, ...]:
    """Six scrapes, 15 s apart, of an engine at constant rates. `batch`: sequences of a step, where
    the engine counts its steps.
    """
    made = []
    for place in range(6):
        passed_s = 15.0 * place
        lines: tuple[str, ...] = (
            f'vllm:num_requests_running{{engine="0",model_name="m"}} {running}',
            f'vllm:num_requests_waiting{{engine="0",model_name="m"}} {waiting}',
            f'vllm:kv_cache_usage_perc{{engine="0",model_name="m"}} {usage}',
            f'vllm:prompt_tokens_total{{engine="0",model_name="m"}} {prompts_per_s * passed_s:.0f}',
            (
                f'vllm:generation_tokens_total{{engine="0",model_name="m"}} '
                f"{generated_per_s * passed_s:.0f}"
            ),
            'vllm:num_preemptions_total{engine="0",model_name="m"} 0',
        )
        if batch is not None:
            steps = generated_per_s / batch * passed_s
            lines += (
                (
                    f'vllm:iteration_tokens_total_bucket{{engine="0",model_name="m",le="+Inf"}} '
                    f"{steps:.0f}"
                ),
                f'vllm:iteration_tokens_total_count{{engine="0",model_name="m"}} {steps:.0f}',
                (
                    f'vllm:iteration_tokens_total_sum{{engine="0",model_name="m"}} '
                    f"{generated_per_s * passed_s:.0f}"
                ),
            )
        made.append(Scrape(AT - 75 + passed_s, "\n".join(lines) + "\n", "x"))
    return tuple(made)


def recording(
    gpu: str | None,
    version: str | None,
    *rates: float,
    usage: float = 0.04,
    args: tuple[str, ...] = ARGS,
    batch: float | None = None,
    **more: Any,
) -> Recording:
    prompts, generated, running, waiting = rates
    texts = scrapes(prompts, generated, int(running), int(waiting), usage, batch)
    return Recording(
        "test",
        AT,
        (ReplicaRecording("a", args=args, gpu=gpu, version=version, scrapes=texts, **more),),
    )


def report(*rates: float, **more: Any) -> ReplicaReport:
    return diagnose(recording("H100", "0.19.0", *rates, **more)).replicas[0]


def expected(
    *rates: float, gpu: str | None = "H100", version: str | None = "0.19.0", **more: Any
) -> float | None:
    recorded = recording(gpu, version, *rates, **more)
    found, _ = windows(recorded, recorded.replicas[0])
    seen = next(iter(found.values())).fresh("expected_work_ratio")
    return None if seen is None else seen.mean


def test_an_engine_that_does_what_its_card_can_needs_all_of_its_time() -> None:
    # Measured elsewhere: 16 clients of this model on two H100 have a token every 17 ms, at 1,024
    # prompt tokens for as many answered.
    assert expected(900, 900, 16, 0) == pytest.approx(1.0, abs=0.35)


def test_work_grows_with_each_rate() -> None:
    idle, prompts, tokens = (
        expected(100, 100, 8, 0),
        expected(2000, 100, 8, 0),
        expected(100, 300, 8, 0),
    )
    assert idle is not None
    assert prompts is not None
    assert tokens is not None
    assert idle < prompts
    assert idle < tokens


@pytest.mark.parametrize(
    ("gpu", "version"),
    [
        (None, "0.19.0"),
        ("H100", None),
        ("an abacus", "0.19.0"),
        ("NVIDIA H100 80GB HBM3 MIG 2", "0.19.0"),
    ],
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
    slow, right = (
        recording("H100", "0.19.0", 400, 20, 8, 40),
        recording("H100", "0.19.0", 900, 900, 16, 0),
    )
    of = [next(iter(windows(one, one.replicas[0])[0].values())) for one in (slow, right)]
    verdicts = [judge(window) for window in of]
    assert isinstance(verdicts[0], Present)
    assert "times as long as this card should need" in verdicts[0].because
    assert isinstance(verdicts[1], Absent)


def test_tokens_of_long_prompts_attend_to_all_before_them() -> None:
    # One prompt of 100,000 tokens after the other: a H100 takes some 12 s for each, four fifths of
    # it for attention.
    long = expected(8000, 0.1, 1, 0, usage=0.12, args=EIGHT)
    assert long is not None
    assert long == pytest.approx(1.0, abs=0.4)
    assert expected(8000, 0.1, 1, 0, usage=0.002, args=EIGHT) == pytest.approx(long / 4, rel=0.4)


def test_nothing_is_expected_where_the_work_is_not_counted() -> None:
    assert expected(4000, 0, 4, 0) is None  # a pooling model
    assert expected(0, 0, 1, 0) == 0  # nothing computed, or a prompt that is not over


def test_a_stage_of_a_pipeline_has_a_part_of_what_runs() -> None:
    """Half of what runs in each step is no prompt that is not counted yet, where there are two
    stages.
    """
    assert expected(0, 30, 8, 0, batch=4) is None
    assert expected(0, 30, 8, 0, batch=4, args=(*ARGS, "--pipeline-parallel-size", "2")) is not None


def test_an_old_engine_may_need_more_of_its_host() -> None:
    wide, plain = (
        next(iter(windows(one, one.replicas[0])[0].values())).fresh("expected_work_error_ratio")
        for one in (
            recording("H100", "0.6.4", 400, 20, 8, 0),
            recording("H100", "0.19.0", 400, 20, 8, 0),
        )
    )
    assert wide is not None
    assert plain is not None
    assert plain.last < 0.3 < 1 < wide.last
    assert "before 0.8" in wide.detail


def test_an_engine_that_crawls_without_a_queue_is_not_called_healthy() -> None:
    assert report(100, 30, 8, 0).diagnosis.cause == "unknown"
    assert report(100, 30, 8, 0).diagnosis.severity == "warning"
    assert "nothing that was seen explains it" in report(100, 30, 8, 0).diagnosis.summary
    assert report(900, 900, 16, 0).diagnosis.cause == "healthy-busy"


def test_a_setting_that_explains_it_is_named_with_what_to_set_instead() -> None:
    found = report(100, 30, 8, 40, env={"CUDA_LAUNCH_BLOCKING": "1"})
    assert (found.diagnosis.cause, found.diagnosis.variant, found.diagnosis.severity) == (
        "bad-config",
        "slow",
        "warning",
    )
    assert "CUDA_LAUNCH_BLOCKING: the host waits for every kernel" in found.diagnosis.summary
    assert str(as_written(found.next[0].change)).startswith("start it without CUDA_LAUNCH_BLOCKING")


def test_a_setting_that_explains_a_part_of_it_is_told_and_not_blamed() -> None:
    slow = report(200, 120, 8, 0, args=(*ARGS, "--enforce-eager"))
    slower = report(100, 20, 8, 0, args=(*ARGS, "--enforce-eager"))
    assert slow.diagnosis.cause == "bad-config"
    assert slower.diagnosis.cause == "unknown"
    assert "eager mode" in slower.diagnosis.summary


def test_a_setting_is_no_fault_where_steps_are_as_fast_as_they_should_be() -> None:
    assert (
        report(900, 900, 16, 0, args=(*ARGS, "--enforce-eager")).diagnosis.cause == "healthy-busy"
    )


def test_a_card_that_waits_is_not_called_saturated() -> None:
    smi = "index, utilization.gpu [%]\n0, 100 %\n1, 100 %\n"
    texts = tuple(GpuText(AT - 75 + 15 * place, "nvidia-smi.csv", smi, "smi") for place in range(6))
    assert report(100, 30, 8, 40, gpu_texts=texts).diagnosis.cause == "unknown"
