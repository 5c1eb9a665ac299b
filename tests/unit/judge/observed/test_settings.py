"""An engine's settings as it shows them; what it does not show is assumed, and says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from barostat.catalog.signals import signal
from barostat.core.config import ConfigScalar, ConfigValue, EngineConfig
from barostat.core.signal import Signal
from barostat.core.version import parse_version
from barostat.core.window import Window
from barostat.io.bundles import bundle
from barostat.judge.observed.engine import observed_engine
from barostat.judge.observed.settings import (
    assumptions,
    named_model,
    seen_pool,
    seen_values,
    with_seen_slots,
)

BUNDLES = Path(__file__).resolve().parents[3] / "data/bundles"
DEFAULT_SEQS = ConfigValue(256, "version-default", "the card's memory is not known", certain=False)


def window(
    config: dict[str, ConfigScalar | ConfigValue],
    version: str | None = "0.32.0",
    **series: tuple[float, ...],
) -> Window:
    values = {
        name: value if isinstance(value, ConfigValue) else ConfigValue(value, "metric", "a scrape")
        for name, value in config.items()
    }
    signals: dict[str, Signal] = {}
    for name, numbers in series.items():
        made = signal(name, list(enumerate(numbers)), "a scrape")
        assert made is not None
        signals[name] = made
    return Window("r", 10.0, signals, EngineConfig(values), parse_version(version))


def told(engine: Window, *given: str) -> list[str]:
    return [str(one.advice) for one in assumptions(with_seen_slots(engine), engine, given)]


def test_what_is_not_certain_is_assumed_until_it_is_given() -> None:
    engine = window({"max_num_seqs": DEFAULT_SEQS})
    assert told(engine) == [
        "max_num_seqs 256 is assumed: the card's memory is not known (--max-num-seqs sets it)"
    ]
    assert told(engine, "max_num_seqs") == []
    assert told(window({"max_num_seqs": 64})) == []


def test_an_unknown_version_is_assumed() -> None:
    assert told(window({}, version=None)) == [
        "the engine's version was not seen: vLLM 0.32.0 is assumed (--engine-version sets it)"
    ]


@pytest.mark.parametrize(
    ("running", "waiting", "usage", "seqs", "certain"),
    [
        ((64, 64, 64), (9, 12, 8), (0.4, 0.4, 0.4), 64, True),  # nothing else holds them back
        ((64, 63, 64), (9, 12, 8), (0.4, 0.4, 0.4), 256, False),  # the number moves
        ((64, 64, 64), (0, 12, 8), (0.4, 0.4, 0.4), 256, False),  # nobody waited at first
        ((64, 64, 64), (9, 12, 8), (0.4, 0.95, 0.4), 256, False),  # the pool may be the reason
        ((64, 64), (9, 12), (0.4, 0.4), 256, False),  # too few looks
        ((300, 280, 290), (0, 0, 0), (0.4, 0.4, 0.4), 300, False),  # more ran than assumed
    ],
)
def test_the_limit_on_sequences_is_taken_from_the_load_where_nothing_states_it(
    running: tuple[float, ...],
    waiting: tuple[float, ...],
    usage: tuple[float, ...],
    seqs: int,
    certain: bool,
) -> None:
    engine = window(
        {"max_num_seqs": DEFAULT_SEQS},
        running_requests=running,
        waiting_requests=waiting,
        kv_usage_ratio=usage,
    )
    found = with_seen_slots(engine).get("max_num_seqs")
    assert found is not None
    assert (found.value, found.certain) == (seqs, certain)


def test_a_stated_limit_is_kept_whatever_runs() -> None:
    engine = window({"max_num_seqs": 64}, running_requests=(80, 80, 80))
    assert with_seen_slots(engine).number("max_num_seqs") == 64


def test_settings_are_those_that_the_engine_resolved() -> None:
    recording = bundle.read(BUNDLES / "kv-preemption-thrash")
    engine = observed_engine(recording).window
    values, assumed = seen_values(engine)
    pool = seen_pool(engine)
    assert pool is not None
    assert (pool.blocks, pool.block_tokens, pool.tokens) == (64, 128, 8192)
    assert pool.is_of_one_kind
    wanted = {"max_num_seqs": 64, "max_num_batched_tokens": 2048, "async_scheduling": False}
    assert {name: values[name] for name in wanted} == wanted
    assert not assumed


def test_blocks_that_do_not_make_the_tokens_are_of_several_kinds() -> None:
    engine = window({"num_gpu_blocks": 1000, "block_size": 16, "kv_cache_size_tokens": 8000})
    pool = seen_pool(engine)
    assert pool is not None
    assert pool.is_of_one_kind is False
    silent = seen_pool(window({"num_gpu_blocks": 1000, "block_size": 16}))
    assert silent is not None
    assert silent.is_of_one_kind is None
    assert seen_pool(window({})) is None


@pytest.mark.parametrize(
    ("config", "name", "served"),
    [
        ({"model": "openai/gpt-oss-20b"}, "openai/gpt-oss-20b", False),
        ({"model": "/models/x", "served_model_name": "gpt-oss-20b"}, "openai/gpt-oss-20b", True),
        ({"served_model_name": "gpt-oss-20b other"}, None, False),
        ({"model": "/models/x"}, None, False),
        ({}, None, False),
    ],
)
def test_a_model_is_known_by_its_path_or_by_its_only_served_name(
    config: dict[str, ConfigScalar | ConfigValue], name: str | None, served: bool
) -> None:
    found = named_model(window(config).config)
    assert (found and found.name, found is not None and found.served) == (name, served)
