"""Configuration, pool, models and version as each era's metrics tell them."""

from __future__ import annotations

from pathlib import Path

import pytest

from barostat.core.version import parse_version
from barostat.engines.vllm.metrics.exposition import Exposition, read
from barostat.engines.vllm.metrics.settings import is_v0, model_names, pool, settings, version_hint

ERAS = Path(__file__).parents[4] / "data" / "expositions"


def _read(name: str) -> Exposition:
    return read((ERAS / f"{name}.prom").read_text())


@pytest.mark.parametrize(
    ("name", "inside", "low", "high"),
    [
        ("v0-0.6.6", "0.6.6", None, "0.11.0"),
        ("v1-0.8.0", "0.8.0", "0.7.0", "0.8.3"),
        ("v1-0.10.0", "0.10.0", "0.9.2", "0.10.2"),
        ("v1-0.11.0-pid", "0.11.0", "0.11.0", "0.11.1"),
        ("v1-0.15.0-dp2", "0.15.0", "0.13.0", "0.16.0"),
        ("v1-0.20.0", "0.20.0", "0.20.0", "0.24.0"),
        ("v1-0.24.0", "0.24.0", "0.24.0", "0.28.0"),
        ("v1-0.32.0", "0.32.0", "0.32.0", None),
    ],
)
def test_names_bound_the_version(name: str, inside: str, low: str | None, high: str | None) -> None:
    hint = version_hint(_read(name))
    assert (hint.low and hint.low.release) == ((found := parse_version(low)) and found.release)
    assert (hint.high and hint.high.release) == ((found := parse_version(high)) and found.release)
    version = parse_version(inside)
    assert version is not None
    assert hint.low is None or hint.low.release <= version.release
    assert hint.high is None or version.release < hint.high.release
    assert hint.because


def test_what_is_missing_bounds_nothing_in_a_half_or_filtered_scrape() -> None:
    text = (ERAS / "v1-0.32.0.prom").read_text()
    half = version_hint(read(text[: text.index("vllm:request_success")]))
    assert half.high is None
    filtered = version_hint(read('vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.5\n'))
    assert filtered.low is not None
    assert filtered.low.release == (0, 9, 2)
    assert filtered.high is None
    assert version_hint(read("nothing")) == (None, None, ())


def test_a_hidden_metric_shown_on_purpose_does_not_turn_the_bounds_around() -> None:
    shown = read(
        (ERAS / "v1-0.15.0-dp2.prom").read_text()
        + 'vllm:time_per_output_token_seconds_count{engine="0"} 1.0\n'
    )
    hint = version_hint(shown)
    assert hint.low is not None
    assert hint.high is not None
    assert hint.low < hint.high


def test_settings_keep_their_types_and_leave_none_out() -> None:
    found = settings(_read("v1-0.32.0"))
    assert found["block_size"].value == 16
    assert found["gpu_memory_utilization"].value == 0.92
    assert found["enable_prefix_caching"].value is True
    assert found["cache_dtype"].value == found["kv_cache_dtype"].value == "auto"
    assert found["kv_cache_size_tokens"].value == 12_000
    assert found["kv_cache_max_concurrency"].value == 2.93
    assert {"num_gpu_blocks_override", "kv_cache_memory_bytes", "engine", "model_name"}.isdisjoint(
        found
    )
    assert all(value.provenance == "metric" and value.certain for value in found.values())
    assert found["block_size"].source == 'vllm:cache_config_info{block_size="16"}'


def test_settings_of_older_eras() -> None:
    assert settings(_read("v0-0.6.6"))["swap_space"].value == 4.0
    assert "num_gpu_blocks" not in settings(_read("v1-0.8.0"))
    assert settings(read("vllm:num_requests_running 1\n")) == {}


def test_lora_slots_are_a_setting() -> None:
    found = settings(
        read(
            'vllm:lora_requests_info{max_lora="4",running_lora_adapters="a",waiting_lora_adapters=""} '
            "1.7e9\n"
        )
    )
    assert found["max_loras"].value == 4


def test_blocks_are_summed_over_engines_and_given_for_one() -> None:
    two = _read("v1-0.15.0-dp2")
    for engine in ("0", "1"):
        assert pool(two, engine).blocks == 1000
        assert pool(two, engine).tokens == 16_000
    blocks = settings(two)["num_gpu_blocks"]
    assert blocks.value == 1000
    assert not blocks.certain
    assert "2 engines" in blocks.source


def test_engines_that_differ_make_a_setting_uncertain() -> None:
    text = (
        'vllm:cache_config_info{engine="0",block_size="16"} '
        '1\nvllm:cache_config_info{engine="1",block_size="32"} 1\n'
    )
    assert not settings(read(text))["block_size"].certain
    assert pool(read(text), "1").block_size_tokens == 32


@pytest.mark.parametrize(
    ("name", "usable", "idle"),
    [("v0-0.6.6", 1.0, 0.0), ("v1-0.10.0", 1.0, 0.001), ("v1-0.20.0", 0.999, 0.0)],
)
def test_the_null_block_is_taken_off_as_the_version_counts_it(
    name: str, usable: float, idle: float
) -> None:
    exposition = _read(name)
    found = pool(exposition, "" if is_v0(exposition) else "0")
    assert found.usable_ratio == pytest.approx(usable)
    assert found.idle_usage_ratio == pytest.approx(idle)


def test_models_by_name() -> None:
    assert model_names(
        read('vllm:a{model_name="b"} 1\nvllm:a{model_name="a"} 1\nvllm:c{model_name=""} 1\n')
    ) == ("a", "b")
