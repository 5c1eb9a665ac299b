"""The configuration resolves by precedence, says where each value came from, and names what is
wrong with it.
"""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barostat.catalog.settings.table import SETTINGS
from barostat.core.config import ConfigValue, EngineConfig
from barostat.core.version import parse_version
from barostat.engines.vllm.command_line.config import config_signals, read_value, resolve


def told(config: EngineConfig, name: str) -> tuple[object, str, bool]:
    """Value, provenance and certainty of one setting."""
    found = config.get(name)
    assert found is not None, name
    return found.value, found.provenance, found.certain


def test_what_the_engine_reports_beats_what_it_was_given() -> None:
    config = resolve(
        args=["m/x", "--gpu-memory-utilization", "0.9", "--max-model-len=8192"],
        version=parse_version("0.32.0"),
        log_settings={
            "gpu_memory_utilization": ConfigValue(0.85, "log", "Desired GPU memory utilization")
        },
        metric_settings={
            "gpu_memory_utilization": ConfigValue(0.8, "metric", "vllm:cache_config_info")
        },
        max_model_len_api=4096,
    )
    assert told(config, "gpu_memory_utilization") == (0.8, "metric", True)
    assert told(config, "max_model_len") == (4096, "api", True)
    assert any(
        "--gpu-memory-utilization=0.9" in problem and "0.8" in problem
        for problem in config.problems
    )
    assert any(
        "--max-model-len=8192" in problem and "4096" in problem for problem in config.problems
    )


def test_flags_beat_the_config_file_and_that_beats_the_default() -> None:
    config = resolve(
        args=["m/x", "--max-num-seqs", "8"],
        config_file={
            "max-num-seqs": 16,
            "max_num_batched_tokens": "4k",
            "enable-prefix-caching": False,
            "speculative-config": {"a": 1},
        },
        env={"VLLM_USE_V1": "1"},
        version=parse_version("0.32.0"),
        gpu="NVIDIA L4",
    )
    assert told(config, "max_num_seqs") == (8, "flag", True)
    assert told(config, "max_num_batched_tokens") == (4000, "config-file", True)
    assert told(config, "enable_prefix_caching") == (False, "config-file", True)
    assert told(config, "VLLM_USE_V1") == (1, "environment", True)
    assert told(config, "gpu_memory_utilization") == (0.92, "version-default", True)


def test_agreement_is_no_problem() -> None:
    config = resolve(
        args=["m/x", "--gpu-memory-utilization", "0.9"],
        version=parse_version("0.32.0"),
        log_settings={"gpu_memory_utilization": ConfigValue(0.9, "log", "x")},
    )
    assert not config.problems


def test_an_automatic_length_agrees_with_whatever_it_became() -> None:
    assert not resolve(
        args=["m/x", "--max-model-len", "auto"],
        version=parse_version("0.32.0"),
        max_model_len_api=4096,
    ).problems


def test_defaults_of_a_known_card_are_certain_and_of_an_unknown_one_are_not() -> None:
    version = parse_version("0.32.0")
    assert told(
        resolve(args=["m/x"], version=version, gpu="NVIDIA H100 80GB HBM3"), "max_num_seqs"
    ) == (1024, "version-default", True)
    assert told(resolve(args=["m/x"], version=version), "max_num_seqs")[2] is False
    assert told(resolve(version=version, gpu="NVIDIA H100 80GB HBM3"), "max_num_seqs")[2] is False


def test_the_log_can_stand_for_the_command_line_and_tell_the_version() -> None:
    logged = {
        "model": ConfigValue("m/x", "log", "non-default args"),
        "version": ConfigValue("0.32.0", "log", "banner"),
    }
    assert told(resolve(log_settings=logged, gpu="NVIDIA L4"), "max_num_seqs") == (
        256,
        "version-default",
        True,
    )


@pytest.mark.parametrize(
    ("args", "sure"),
    [
        (["m", "--max-num-seqs", "$(SEQS)"], {"max_num_batched_tokens"}),
        (["m", "$(MORE)"], set()),
        (["sh", "-c", "vllm serve m $MORE"], set()),
        (["sh", "-c", "vllm serve $MODEL --port 1"], {"max_num_seqs", "max_num_batched_tokens"}),
        (["$(WHICH)", "--port", "1"], {"max_num_seqs", "max_num_batched_tokens"}),
        (["m", "--lora-modules", "a=$(A)", "b=$(B)"], {"max_num_seqs", "max_num_batched_tokens"}),
        (["--model", "$(WHICH)", "$(MORE)"], set()),
        (["sh", "-c", "vllm serve $ALL_OF_IT"], set()),
        (["sh", "-c", "vllm serve m --$NAME 5"], set()),
        (["sh", "-c", "vllm serve m --served-model-name a $MORE"], set()),
        (["m"], {"max_num_seqs", "max_num_batched_tokens"}),
    ],
)
def test_what_a_secret_may_set_is_no_certain_default(args: list[str], sure: set[str]) -> None:
    """Else 64 requests of 64 look like 64 of 1024, with slots to spare."""
    found = resolve(args=args, version=parse_version("0.32.0"), gpu="H100", gpu_memory_gib=80.0)
    told = {name: found.get(name) for name in ("max_num_seqs", "max_num_batched_tokens")}
    assert {name for name, value in told.items() if value is not None and value.certain} == sure
    assert ("max_running_requests" in {one.name for one in config_signals(found, 0.0)}) is (
        "max_num_seqs" in sure
    )
    logged = {
        "model": ConfigValue("m", "log", "m"),
        "max_num_seqs": ConfigValue(64, "log", "max_num_seqs=64"),
    }
    assert (
        resolve(
            args=args,
            version=parse_version("0.32.0"),
            gpu="H100",
            gpu_memory_gib=80.0,
            log_settings=logged,
        ).number("max_num_seqs")
        == 64
    )


def test_a_config_file_that_was_not_recorded_leaves_defaults_uncertain() -> None:
    config = resolve(
        args=["m/x", "--config", "/etc/vllm.yaml"], version=parse_version("0.32.0"), gpu="NVIDIA L4"
    )
    assert told(config, "max_num_seqs")[2] is False
    assert any("/etc/vllm.yaml" in problem for problem in config.problems)


def test_the_cpu_backend_has_its_own_defaults() -> None:
    config = resolve(args=["m/x"], version=parse_version("0.32.0+cpu"))
    assert told(config, "max_num_seqs") == (128, "version-default", True)


@pytest.mark.parametrize(
    ("args", "version", "said"),
    [
        (["--swap-space", "4"], "0.32.0", "does not exist since vLLM 0.18.0"),
        (["--swap-space", "4"], "0.10.0", "does nothing"),
        (["--watermark", "0.02"], "0.20.0", "needs vLLM >= 0.24.0"),
        (["--max-num-partial-prefills", "2"], "0.12.0", "does nothing"),
        (["--max-num-partial-prefills", "2"], "0.27.0", "refuses to start"),
        (
            ["--max-num-batched-tokens", "64", "--max-num-seqs", "128"],
            "0.12.0",
            "below max_num_seqs",
        ),
        (
            ["--max-num-seqs", "4096", "--gpu-memory-utilization", "0.9"],
            "0.32.0+cpu",
            "below max_num_seqs",
        ),
        (["--max-num-active-seqs", "64", "--max-num-seqs", "32"], "0.32.0", "above max_num_seqs"),
        (["--no-enable-prefix-caching"], "0.12.0", "prefix caching is switched off"),
        (["--no-enable-chunked-prefill"], "0.12.0", "chunked prefill is switched off"),
        (["--no-enable-chunked-prefill"], "0.10.0", "ignores that"),
        (["--num-gpu-blocks-override", "64"], "0.32.0", "by hand"),
        (["--disable-log-stats"], "0.32.0", "cannot be seen"),
        (["--max-model-len", "4Gi"], "0.32.0", "no value for --max-model-len"),
    ],
)
def test_what_is_wrong_for_the_version_is_said(args: list[str], version: str, said: str) -> None:
    problems = resolve(args=["m/x", *args], version=parse_version(version)).problems
    assert any(said in problem for problem in problems), problems


@pytest.mark.parametrize(
    "args", [["--swap-space", "4"], ["--watermark", "0.02"], ["--new-thing", "1"]]
)
def test_nothing_is_wrong_where_the_version_is_not_known(args: list[str]) -> None:
    assert not resolve(args=["m/x", *args]).problems


def test_an_argument_that_we_do_not_have_is_no_problem() -> None:
    config = resolve(args=["m/x", "--brand-new-thing", "7"], version=parse_version("0.33.0"))
    assert told(config, "brand_new_thing") == (7, "flag", True)
    assert not config.problems


def test_the_running_limit_is_the_smaller_one() -> None:
    config = resolve(
        args=["m/x", "--max-num-seqs", "64", "--max-num-active-seqs", "16"],
        version=parse_version("0.32.0"),
    )
    assert told(config, "max_running") == (16, "flag", True)


@pytest.mark.parametrize(
    ("args", "length", "budget"),
    [
        ([], 32768, 2048),
        (["--no-enable-chunked-prefill"], 32768, 32768),
        (["--max-num-seqs", "2"], 512, 1024),
        (["--performance-mode", "throughput"], 32768, 4096),
    ],
)
def test_the_default_budget_follows_length_and_slots(
    args: list[str], length: int, budget: int
) -> None:
    config = resolve(
        args=["m/x", *args],
        version=parse_version("0.32.0"),
        gpu="NVIDIA L4",
        max_model_len_api=length,
    )
    assert told(config, "max_num_batched_tokens") == (budget, "version-default", True)


def test_a_version_that_forces_chunked_prefill_has_it_on() -> None:
    config = resolve(
        args=["m/x", "--no-enable-chunked-prefill"],
        version=parse_version("0.10.0"),
        gpu="NVIDIA L4",
        max_model_len_api=32_768,
    )
    assert told(config, "enable_chunked_prefill") == (True, "version-default", True)
    assert told(config, "max_num_batched_tokens") == (2048, "version-default", True)


def test_default_slots_are_at_most_the_budget() -> None:
    config = resolve(
        args=["m/x", "--max-num-batched-tokens", "100"],
        version=parse_version("0.32.0"),
        gpu="NVIDIA L4",
    )
    assert told(config, "max_num_seqs") == (100, "version-default", True)
    assert not config.problems


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("max_model_len", "25k", 25_000),
        ("max_model_len", "1M", 1 << 20),
        ("max_model_len", "25.6k", 25_600),
        ("max_model_len", "2.5K", None),
        ("max_model_len", "auto", -1),
        ("kv_cache_memory_bytes", "25G", 25 << 30),
        ("kv_cache_memory_bytes", "4Gi", None),
        ("gpu_memory_utilization", ".9", 0.9),
        ("gpu_memory_utilization", "90%", None),
        ("enforce_eager", "true", True),
        ("brand_new", "x", "x"),
    ],
)
def test_values_are_read_as_vllm_reads_them(name: str, text: str, value: object) -> None:
    assert read_value(name, text) == value


def test_signals_carry_what_is_certain_and_where_it_came_from() -> None:
    config = resolve(
        args=["m/x", "--max-num-seqs", "64"],
        version=parse_version("0.32.0"),
        metric_settings={
            "num_gpu_blocks": ConfigValue(2048, "metric", "vllm:cache_config_info"),
            "block_size": ConfigValue(16, "metric", "vllm:cache_config_info"),
        },
    )
    made = {signal.name: signal for signal in config_signals(config, 100.0)}
    assert made["max_running_requests"].last == 64
    assert made["max_running_requests"].source == "--max-num-seqs=64"
    assert made["kv_pool_tokens"].last == 2048 * 16
    assert made["kv_pool_blocks"].at == 100.0
    assert "max_batched_tokens" not in made  # its default depends on a card that nobody named


def test_the_reported_pool_beats_blocks_times_size() -> None:
    config = resolve(
        metric_settings={
            "num_gpu_blocks": ConfigValue(2048, "metric", "m"),
            "block_size": ConfigValue(16, "metric", "m"),
            "kv_cache_size_tokens": ConfigValue(30_000, "metric", "m"),
        }
    )
    assert {signal.name: signal.last for signal in config_signals(config, 1.0)}[
        "kv_pool_tokens"
    ] == 30_000


OPTIONS = st.sampled_from(["--" + name for name in SETTINGS])
WORDS = st.one_of(
    OPTIONS, st.text(max_size=12), st.integers().map(str), st.just("9" * 5000), st.just("1e400")
)


@given(
    st.lists(WORDS, max_size=8),
    st.dictionaries(st.text(max_size=8), st.one_of(st.none(), st.text(max_size=5), st.integers(), st.booleans())),
    st.sampled_from([None, "0.6.4", "0.10.0", "0.32.0", "0.32.0+cpu"]),
)  # fmt: skip
def test_no_command_line_and_no_config_file_raises(
    args: list[str], config_file: dict[str, object], version: str | None
) -> None:
    config = resolve(args=args, config_file=config_file, version=parse_version(version))
    assert all(found.last > 0 for found in config_signals(config, 1.0))


def test_nothing_known_gives_no_signal() -> None:
    assert config_signals(resolve(), 1.0) == []


def test_an_empty_value_leaves_open_what_may_be_left_open() -> None:
    config = resolve(
        args=["m/x", "--kv-cache-memory-bytes=", "--max-num-seqs", "None"],
        version=parse_version("0.32.0"),
    )
    assert config.problems == ()
    assert config.get("kv_cache_memory_bytes") is None
    (problem,) = resolve(
        args=["m/x", "--gpu-memory-utilization="], version=parse_version("0.32.0")
    ).problems
    assert "--gpu-memory-utilization" in problem


def test_dotted_arguments_are_the_json_that_they_make() -> None:
    dotted = [
        "--speculative-config.method",
        "eagle3",
        "--speculative-config.num_speculative_tokens",
        "3",
        "--hf-overrides.text.a=true",
    ]
    found = resolve(args=["vllm", "serve", "m", *dotted], version=parse_version("0.32.0"))
    assert json.loads(str(found.values["speculative_config"].value)) == {
        "method": "eagle3",
        "num_speculative_tokens": 3,
    }
    assert json.loads(str(found.values["hf_overrides"].value)) == {"text": {"a": True}}
    assert (
        found.values["speculative_config"].source
        == "--speculative-config.method eagle3 --speculative-config.num_speculative_tokens 3"
    )


@pytest.mark.parametrize("value", [1e999, -1e999, 1e300, float("nan")])
@pytest.mark.parametrize(
    "name",
    ["tensor_parallel_size", "max_num_seqs", "max_num_batched_tokens", "max_num_active_seqs"],
)
def test_a_number_of_a_log_that_cannot_be_breaks_nothing(name: str, value: float) -> None:
    said = {
        name: ConfigValue(value, "log", "a log"),
        "pipeline_parallel_size": ConfigValue(value, "log", "a log"),
    }
    config = resolve(version=parse_version("0.32.0"), log_settings=said)
    assert config_signals(config, 0.0) is not None
