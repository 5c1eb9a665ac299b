"""The plan, what follows from it, and what it says when it cannot be."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from barostat.core.errors import InputError
from barostat.core.limits import contradictions
from barostat.judge.sizing.fitting_changes import changes_that_fit, why_not
from barostat.judge.sizing.limits_from import limits_from
from barostat.judge.sizing.plan import CapacityPlan, Measured, plan
from barostat.judge.sizing.request_shape import Arrival, traffic_from_quantiles, traffic_of
from barostat.kv.pool import fill
from barostat.shells.cli.capacity import plan as plan_verb
from barostat.shells.cli.capacity import plan_arguments, plan_inputs
from barostat.shells.reports.capacity.plan_data import plan_json


def parse(*words: str) -> Any:
    import argparse

    parser = argparse.ArgumentParser()
    plan_verb.add_parser(parser.add_subparsers())
    return parser.parse_args(["plan", *words])


def made(*words: str) -> CapacityPlan:
    return plan(plan_inputs.asked(parse(*words)).request)


def document(*words: str) -> dict[str, Any]:
    return plan_json(plan_inputs.answer(plan_inputs.asked(parse(*words))))


def test_the_json_contract() -> None:
    found = document(
        "--model",
        "meta-llama/Llama-3.1-8B-Instruct",
        "--available-kv-gib",
        "50",
        "--engine-version",
        "0.32.0",
        "--max-model-len",
        "8192",
    )
    assert found["kind"] == "CapacityPlan"
    assert (found["kvBytesPerToken"], found["kvBytesPerTokenPerGpu"]) == (131_072, 131_072)
    assert (
        found["numBlocks"],
        found["blockSize"],
        found["kvCacheTokens"],
        found["maxConcurrency"],
    ) == (25_600, 16, 409_600, 50.0)
    assert found["fits"] is True
    for name in (
        "weightsBytesPerGpu",
        "availableKvBytesPerGpu",
        "limits",
        "estimates",
        "assumptions",
    ):
        assert name in found
    assert all(
        {"name", "value", "low", "high", "source"} == set(entry) for entry in found["estimates"]
    )


def test_ranks_share_kv_heads_until_there_is_one_each() -> None:
    per_gpu = [
        document("--model", "Qwen/Qwen3-8B", "--gpu", "H100", "--tp", str(tp))[
            "kvBytesPerTokenPerGpu"
        ]
        for tp in (1, 8, 16)
    ]
    assert per_gpu == [147_456, 18_432, 18_432]
    assert (
        document("--model", "Qwen/Qwen3-8B", "--gpu", "H100", "--tp", "16")["kvBytesPerToken"]
        == 147_456
    )


def test_vllms_own_command_line_is_understood() -> None:
    found = made(
        "--gpu",
        "H100",
        "--",
        "vllm",
        "serve",
        "Qwen/Qwen3-8B",
        "--max-model-len",
        "32768",
        "-tp",
        "2",
        "--kv-cache-dtype",
        "fp8",
    )
    assert (found.flags.max_model_len, found.flags.tp, found.flags.kv_cache_dtype) == (
        32_768,
        2,
        "fp8",
    )


def test_the_length_may_be_left_to_the_engine() -> None:
    found = made("--model", "Qwen/Qwen3-8B", "--gpu", "L4", "--max-model-len", "auto")
    assert found.fits
    assert 16_000 < found.pool.longest_tokens < 40_960


def test_a_model_that_cannot_fit_says_why_and_what_would() -> None:
    found = made("--model", "meta-llama/Meta-Llama-3.1-70B", "--gpu", "H100")
    assert not found.fits
    assert "No available memory" in why_not(found)
    offered = [change.arguments for change in changes_that_fit(found)]
    assert any("--tensor-parallel-size 4" in change for change in offered)


def test_weights_that_were_stated_shrink_on_more_gpus_as_reckoned_ones_do() -> None:
    words = ("--model", "meta-llama/Meta-Llama-3.1-70B", "--gpu", "H100")
    reckoned = made(*words)
    stated = made(*words, "--weights-gib", str(reckoned.weights_bytes / 2**30))
    at_four = [
        next(change for change in changes_that_fit(found) if "size 4" in change.arguments).tokens
        for found in (reckoned, stated)
    ]
    assert at_four[1] == pytest.approx(at_four[0], rel=0.001)


def test_a_length_that_cannot_fit_names_the_one_that_does_first() -> None:
    found = made("--model", "Qwen/Qwen3-8B", "--gpu", "L4")
    assert not found.fits
    first = changes_that_fit(found)[0].arguments
    assert first.startswith("--max-model-len ")
    assert made("--model", "Qwen/Qwen3-8B", "--gpu", "L4", *first.split()).fits


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--model", "Qwen/Qwen3-9B", "--gpu", "H100"), "Qwen/Qwen3-8B"),
        (("--model", "Qwen/Qwen3-8B", "--gpu", "H101"), "--gpu-memory-gib"),
        (("--model", "Qwen/Qwen3-8B", "--gpu", "H100", "--tp", "3"), "--tp 4"), (("--gpu", "H100"), "--model"),
        (("--model", "Qwen/Qwen3-8B"), "--available-kv-gib"), (("--model", "Qwen/Qwen3-8B", "--gpu", "H100", "--pp", "99"), "36"),
        (("--model", "Qwen/Qwen3-8B", "--gpu", "H100", "--engine-version", "soon"), "0.32.0"),
        (("--model", "Qwen/Qwen3-8B", "--gpu", "H100", "--kv-cache-dtype", "fp3"), "fp3"),
        (("--model", "Qwen/Qwen3-8B", "--gpu", "H100", "--gpu-memory-utilization", "1.2"), "1.2"),
        (("--model", "Qwen/Qwen3-8B", "--gpu", "H100", "--max-num-seqs", "100", "--max-num-batched-tokens", "50"), "refuses"),
        (("--model", "Qwen/Qwen3-8B", "--gpu", "H100", "--input-p50", "100"), "all four"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_one_clear_sentence(words: tuple[str, ...], says: str) -> None:
    with pytest.raises(InputError, match=says):
        plan_inputs.answer(plan_inputs.asked(parse(*words)))


def test_a_version_from_the_future_is_planned_as_the_newest_known() -> None:
    found = made("--model", "Qwen/Qwen3-8B", "--gpu", "H100", "--engine-version", "2.0.0")
    assert any("newer than" in note for note in found.assumptions)


@pytest.mark.parametrize(
    ("version", "said"), [("0.5.4", True), ("0.6.0", False), ("0.33.0", False)]
)
def test_a_version_from_before_all_that_is_known_is_said_to_be_that(
    version: str, said: bool
) -> None:
    found = made("--model", "Qwen/Qwen3-8B", "--gpu", "H100", "--engine-version", version)
    assert any("older than 0.6.0" in note for note in found.assumptions) is said


def test_an_unknown_architecture_exits_three(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({
        "architectures": ["FooForCausalLM"], "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "vocab_size": 32_000,
    }))  # fmt: skip
    assert plan_verb.run(parse("--model-config", str(path), "--gpu", "H100", "-o", "json")) == 3
    assert json.loads(capsys.readouterr().out)["architectureKnown"] is False


def test_the_exit_code_says_whether_it_fits(capsys: pytest.CaptureFixture[str]) -> None:
    assert plan_verb.run(parse("--model", "Qwen/Qwen3-8B", "--gpu", "H100")) == 0
    assert plan_verb.run(parse("--model", "Qwen/Qwen3-8B", "--gpu", "T4")) == 1
    assert plan_verb.run(parse("--model", "Qwen/Qwen3-8B", "--gpu", "T4", "--exit-zero")) == 0
    assert (
        plan_verb.run(
            parse("--model", "Qwen/Qwen3-8B", "--compare", "H100", "--compare", "T4 --tp 2")
        )
        == 0
    )
    assert "T4 --tp 2" in capsys.readouterr().out


@pytest.mark.parametrize("form", plan_arguments.FORMATS)
def test_every_form_is_made(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        plan_verb.run(parse("--model", "google/gemma-3-27b-it", "--gpu", "H200", "-o", form)) == 0
    )
    assert capsys.readouterr().out.strip()


def trace() -> list[Arrival]:
    return [Arrival(float(i), 200 + 7 * (i % 50), 50 + i % 300) for i in range(600)]


def test_limits_follow_from_traffic_and_each_says_why() -> None:
    found = made("--model", "Qwen/Qwen3-8B", "--gpu", "H100", "--engine-version", "0.32.0")
    traffic = traffic_of(trace(), "a trace")
    derived = limits_from(found, traffic, "0.32.0")
    spec = derived.limits.spec
    assert spec.request.max_input_tokens is not None
    assert spec.request.max_input_tokens >= 543
    assert spec.engine.max_model_len is not None
    assert spec.engine.max_model_len <= 2048
    assert spec.engine.max_num_seqs is not None
    assert spec.engine.max_queued_requests == 2 * spec.engine.max_num_seqs
    assert not contradictions(derived.limits)
    assert all(derived.limits.because.values())
    old = limits_from(
        made("--model", "Qwen/Qwen3-8B", "--gpu", "H100", "--engine-version", "0.18.0"),
        traffic,
        "0.18.0",
    ).limits.spec.engine
    assert (old.watermark, old.max_queued_requests) == (None, None)


@pytest.mark.parametrize(
    ("dtype", "said"),
    [("auto", ". fp8 KV (about twice as many), shorter outputs, "), ("fp8", ". Shorter outputs, ")],
)
def test_what_would_change_the_seats_is_a_sentence(dtype: str, said: str) -> None:
    found = made("--model", "Qwen/Qwen3-8B", "--gpu", "L40S", "--kv-cache-dtype", dtype)
    limits = limits_from(
        found, traffic_from_quantiles((3000, 3000), (300, 300), "quantiles"), "0.32.0"
    ).limits
    assert f"{said}another replica would change it." in limits.because["engine.maxNumSeqs"]


def test_a_pool_that_was_told_is_pinned_and_who_told_it_is_said() -> None:
    found = made("--model", "Qwen/Qwen3-8B", "--available-kv-gib", "57.5")
    because = limits_from(found, None, "0.32.0").limits.because["engine.kvCacheMemoryBytes"]
    assert because == "the pool is pinned, so that a restart gets the same one (as given)"


def test_the_queue_is_of_all_data_parallel_ranks_and_of_who_runs() -> None:
    """One API server counts the requests of all its ranks, running and waiting: seats alone would
    let nobody wait.
    """
    options = ("--model", "Qwen/Qwen3-8B", "--gpu", "H100", "--engine-version", "0.32.0")
    one, four = (
        limits_from(made(*options, *more), None, "0.32.0").limits
        for more in ((), ("--", "-dp", "4"))
    )
    alone, spread = one.spec.engine, four.spec.engine
    assert spread.max_num_seqs == alone.max_num_seqs
    assert alone.max_num_seqs is not None
    assert alone.max_queued_tokens is not None
    assert alone.max_queued_requests == 2 * alone.max_num_seqs
    assert spread.max_queued_requests == 8 * alone.max_num_seqs
    assert spread.max_queued_tokens == 4 * alone.max_queued_tokens
    assert "running and waiting" in one.because["engine.maxQueuedRequests"]
    assert "all 4 data-parallel ranks" in four.because["engine.maxQueuedRequests"]


def test_seats_stay_within_the_pool() -> None:
    """Longer requests get fewer seats, and seats times their mean never go beyond the pool."""
    found = made(
        "--model", "Qwen/Qwen3-8B", "--available-kv-gib", "20", "--engine-version", "0.32.0"
    )
    seats = []
    for scale in (1, 4, 16):
        traffic = traffic_of(
            [
                Arrival(row.arrival_s, row.input_tokens * scale, row.output_tokens * scale)
                for row in trace()
            ],
            "a trace",
        )
        assert traffic is not None
        engine = limits_from(found, traffic, "0.32.0").limits.spec.engine
        assert engine.max_num_seqs is not None
        assert engine.max_num_seqs * traffic.held_mean <= found.pool.tokens
        seats.append(engine.max_num_seqs)
    assert seats == sorted(seats, reverse=True)


def test_few_long_requests_get_a_pool_of_their_own() -> None:
    mixed = [*trace(), *(Arrival(700.0 + i, 60_000, 800) for i in range(30))]
    found = made("--model", "meta-llama/Llama-3.1-8B-Instruct", "--gpu", "H100")
    assert limits_from(found, traffic_of(mixed, "mixed"), "0.32.0").pools
    assert not limits_from(found, traffic_of(trace(), "short"), "0.32.0").pools


def test_quantiles_stand_in_for_a_trace() -> None:
    traffic = traffic_from_quantiles((1000, 4000), (100, 600), "quantiles")
    assert 1000 < traffic.input.mean < 2000
    assert traffic.held_mean > traffic.input.mean
    assert traffic_of([], "empty") is None


def test_an_input_limit_below_the_inputs_says_why() -> None:
    traffic = traffic_from_quantiles((2000, 7800), (300, 1300), "quantiles")
    short, long = (
        limits_from(
            made("--model", "Qwen/Qwen3-8B", "--gpu", "H100", *more), traffic, "0.32.0"
        ).limits
        for more in (("--max-model-len", "8192"), ())
    )
    assert short.spec.request.max_input_tokens is not None
    assert short.spec.request.max_input_tokens < 7800
    assert short.because["request.maxInputTokens"].startswith(
        "what the length leaves beside the output; 99 of 100 inputs"
    )
    assert long.because["request.maxInputTokens"].startswith("99 of 100 inputs")


BUNDLE = Path(__file__).resolve().parents[3] / "data" / "bundles" / "kv-preemption-thrash"
TINY = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 32, "vocab_size": 2048, "max_position_embeddings": 8192, "intermediate_size": 256,
}  # fmt: skip


def test_a_recorded_engines_own_pool_is_taken(tmp_path: Path) -> None:
    """The bundle's engine logged 8,192 tokens, 2.00x at 4,096."""
    (tmp_path / "config.json").write_text(json.dumps(TINY))
    found = document("--from", str(BUNDLE), "--model-config", str(tmp_path / "config.json"))
    assert (
        found["numBlocks"],
        found["blockSize"],
        found["kvCacheTokens"],
        found["maxConcurrency"],
    ) == (64, 128, 8192, 2.0)
    assert found["engineVersion"].startswith("0.32")


def test_measured_tokens_alone_are_enough() -> None:
    """No card and no memory: what the engine logs of its size gives the blocks, in old and new
    versions, for plain and hybrid models.
    """
    for name, version, blocks in (
        ("Qwen/Qwen3-8B", "0.32.0", 26_168),
        ("google/gemma-2-27b", "0.19.0", 7336),
        ("google/gemma-3-27b-it", "0.32.0", 40_960),
    ):
        asked = plan_inputs.asked(
            parse(
                "--model",
                name,
                "--available-kv-gib",
                "10",
                "--engine-version",
                version,
                "--max-model-len",
                "8192",
            )
        )
        whole = replace(asked.request, available_kv_bytes=None)
        layout = plan(asked.request).layout
        pool = fill(layout, blocks * layout.block_bytes)
        again = plan(replace(whole, measured=Measured("a log line", tokens=pool.tokens)))
        assert again.pool.blocks == blocks
        assert not again.off_by


def test_where_the_prediction_was_off_is_said() -> None:
    asked = plan_inputs.asked(
        parse("--model", "Qwen/Qwen3-8B", "--gpu", "H100", "--engine-version", "0.32.0")
    )
    found = plan(replace(asked.request, measured=Measured("a log line", blocks=20_000)))
    assert found.pool.blocks == 20_000
    assert "20000" in found.off_by[0]


@pytest.mark.parametrize(
    ("gpu", "shown"),
    [("4xA100", "4 x A100-SXM4-80GB"), ("8 x H100", "8 x H100"), ("H100x4", "4 x H100")],
)
def test_so_many_cards_are_so_many_ranks(
    gpu: str, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert plan_verb.run(parse("--model", "Qwen/Qwen2.5-72B-Instruct", "--gpu", gpu)) == 0
    assert shown in capsys.readouterr().out.splitlines()[1]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--gpu", "H100 banana"), "did you mean H100"),
        (("--gpu", "4xA100", "--tp", "2"), "4 cards, and the parallel sizes make 2"),
        (("--gpu", "banana"), "`--gpu list` shows all"),
    ],
)
def test_what_is_no_card_or_another_count_is_refused(words: tuple[str, ...], says: str) -> None:
    with pytest.raises(InputError, match=re.escape(says)):
        plan_verb.run(parse("--model", "Qwen/Qwen2.5-72B-Instruct", *words))


@pytest.mark.parametrize("words", [("--gpu", "list"), ("--model", "list")])
def test_the_catalogue_is_listed(
    words: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert plan_verb.run(parse(*words)) == 0
    assert len(capsys.readouterr().out.splitlines()) > 40


@pytest.mark.parametrize(
    "words",
    [
        *[("--gpu-memory-utilization", value) for value in ("nan", "inf", "0", "-1", "1.5")],
        *[(flag, "0") for flag in ("--tp", "--pp", "--max-num-seqs", "--kv-cache-memory-bytes")],
        ("--tp", "1000000000"), ("--block-size", "-16"), ("--num-gpu-blocks-override", "-1"),
    ],
)  # fmt: skip
def test_numbers_that_no_engine_can_have_are_refused_in_a_sentence(words: tuple[str, str]) -> None:
    with pytest.raises(InputError):
        plan_verb.run(parse("--model", "Qwen/Qwen3-8B", "--gpu", "H100", *words))


def test_another_build_in_nvfp4_is_taken_for_nvidias_own() -> None:
    """20.75 GiB of weights by the engine's log; by the format's name alone they were 28."""
    found = made(
        "RadixArk/Qwen3.8-27B-NVFP4",
        "--gpu",
        "RTX PRO 6000",
        "--engine-version",
        "0.28.0",
        "--max-num-seqs",
        "16",
    )
    assert found.weights_bytes / 2**30 == pytest.approx(20.75, rel=0.05)
