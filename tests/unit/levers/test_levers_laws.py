"""Laws that every lever keeps, over a grid of versions, causes, variants and windows."""

from __future__ import annotations

import re
from functools import cache
from itertools import product

import pytest

from barostat.catalog.settings.table import SETTINGS, canonical_name, known_flag
from barostat.catalog.signals import SIGNALS, signal
from barostat.core.config import ConfigScalar, ConfigValue, EngineConfig
from barostat.core.diagnosis import CAUSES, VARIANTS, CauseName
from barostat.core.lever import NotApplicable, Proposal, Situation
from barostat.core.proposed_change import Advise, SetFlag
from barostat.core.signal import Signal
from barostat.core.version import EngineVersion, parse_version
from barostat.core.window import Window
from barostat.judge.advice.change_text import as_written
from barostat.levers import levers

LEVERS = levers()
NOW = 1_800_000_000.0
GIB = 1024.0**3
VERSIONS = (
    None,
    "0.2.7",
    "0.6.4",
    "0.7.3",
    "0.8.5",
    "0.10.2",
    "0.11.0",
    "0.11.1",
    "0.17.1",
    "0.18.0",
    "0.20.0",
    "0.24.0",
    "0.29.0",
    "0.31.0",
    "0.33.0",
    "0.32.0+cpu",
)
THRASH: dict[str, float] = {
    "running_requests": 60, "waiting_requests": 40, "capacity_waiting_requests": 40, "kv_usage_ratio": 0.99, "preemptions_in_window": 40,
    "finished_in_window": 50, "kv_pool_tokens": 32_752, "prompt_tokens_p50": 512, "prompt_tokens_p95": 742, "output_tokens_p50": 512,
    "output_tokens_p95": 742, "max_tokens_p95": 4096, "max_running_requests": 256, "max_batched_tokens": 2048, "max_model_len_tokens": 8192,
    "gpu_memory_total_bytes": 80 * GIB,
    "gpu_memory_free_bytes": 6 * GIB, "host_memory_bytes": 40 * GIB, "host_memory_limit_bytes": 128 * GIB,
    "rollout_age_s": 600, "replicas_wanted": 3, "replicas_ready": 3, "gpu_memory_used_ratio": 0.92,
}  # fmt: skip
LONG = {
    **THRASH,
    "running_requests": 2,
    "prompt_tokens_p50": 3000,
    "prompt_tokens_p95": 30_000,
    "kv_usage_ratio": 0.5,
}
ONE = {**THRASH, "running_requests": 1}
WINDOWS: dict[str, dict[str, float]] = {
    "nothing": {},
    "thrash": THRASH,
    "long": LONG,
    "one": ONE,
    "everything": dict.fromkeys(SIGNALS, 1.0),
    "zeros": dict.fromkeys(SIGNALS, 0.0),
}
CONFIGS: dict[str, dict[str, float | str | bool]] = {
    "nothing": {},
    "usual": {
        "gpu_memory_utilization": 0.9,
        "max_num_seqs": 256,
        "max_num_batched_tokens": 2048,
        "kv_cache_dtype": "auto",
        "available_kv_cache_memory_gib": 20.0,
    },
    "off": {
        "enable_prefix_caching": False,
        "enable_chunked_prefill": False,
        "gpu_memory_utilization": 0.97,
        "swap_space": 8.0,
        "kv_cache_dtype": "fp8",
    },
    "override": {
        "num_gpu_blocks_override": 64,
        "gpu_memory_utilization": 0.92,
        "max_num_seqs": 1,
        "max_num_batched_tokens": 16_384,
    },
}
CASES: list[tuple[CauseName, str]] = [
    (cause, variant) for cause in CAUSES for variant in (*VARIANTS.get(cause, ()), "")
]


@cache
def signals(readings: str) -> dict[str, Signal]:
    """The signals of that window."""
    made = {
        name: signal(name, [(NOW - 30, value), (NOW, value)], "test")
        for name, value in WINDOWS[readings].items()
    }
    return {name: found for name, found in made.items() if found is not None}


def situation(
    cause: CauseName, variant: str, version: str | None, readings: str, config: str
) -> Situation:
    """One cell of the grid."""
    values = {
        name: ConfigValue(value, "flag", f"--{name}={value}")
        for name, value in CONFIGS[config].items()
    }
    window = Window(
        "vllm-6d5c7b9f8d-x2x4z",
        NOW,
        signals(readings),
        EngineConfig(values),
        parse_version(version),
    )
    return Situation(cause, variant, window)


def answers(version: str | None) -> list[tuple[Situation, Proposal | NotApplicable]]:
    """What every lever says in every cell of its causes, for one version."""
    cells = [
        situation(cause, variant, version, readings, config)
        for (cause, variant), readings, config in product(CASES, WINDOWS, CONFIGS)
    ]
    return [
        (cell, lever.propose(cell))
        for cell in cells
        for lever in LEVERS
        if cell.cause in lever.causes
    ]


def set_by(answer: Proposal) -> dict[str, ConfigScalar]:
    """The arguments of vLLM that the proposal sets (not the ones that it removes), with the value
    where it is typed; those that advice mentions have none.
    """
    match answer.change:
        case SetFlag(name, value):
            return {name: value}
        case Advise(instruction):
            words = re.findall(r"--[a-z][a-z0-9-]+", str(instruction))
            return {name: "" for word in words if (name := canonical_name(word)) in SETTINGS}
        case _:
            return {}


@pytest.mark.parametrize("version", VERSIONS)
def test_every_answer_keeps_the_laws(version: str | None) -> None:
    parsed: EngineVersion | None = parse_version(version)
    proposals = 0
    for cell, answer in answers(version):
        where = f"{answer.lever} for {cell.cause}/{cell.variant} on {version}: {answer}"
        assert str(answer.because).strip(), where
        if isinstance(answer, NotApplicable):
            continue
        proposals += 1
        assert str(as_written(answer.change)).strip(), where
        flags = set_by(answer)
        if "swap_space" in flags:
            assert answer.lever == "swap-space" or flags["swap_space"] == 0, where
            assert (ran_out := cell.window.fresh("log_swap_exhausted")) is not None, where
            assert ran_out.last > 0, where
        assert not re.search(r"\b(?:nan|inf|None)\b", str(as_written(answer.change))), where
        for name in flags:
            presence = known_flag(name, parsed)
            assert presence != "absent", where
            if presence == "unknown version":  # only what every version has may be named then
                assert cell.window.config.get(name) or parsed is None, where
                assert cell.window.config.get(name) or SETTINGS[name].since in (
                    "",
                    "0.1.0",
                    "0.2.0",
                    "0.5.0",
                ), where
                assert not SETTINGS[name].gone, where
        running = cell.window.fresh("running_requests")
        if cell.cause.startswith("kv-p") or cell.cause == "kv-admission-queueing":
            assert answer.lever != "gpu-memory-utilization-down", where
            limit = flags.get("max_num_active_seqs", flags.get("max_num_seqs"))
            if limit is not None and cell.cause != "kv-pool-too-small":
                assert running is not None, where
                assert 1 <= int(limit) < running.low, where
        if "gpu_memory_utilization" in flags and isinstance(answer.change, SetFlag):
            assert 0 < float(flags["gpu_memory_utilization"]) <= 0.95, where
    assert proposals > 20


@pytest.mark.parametrize("version", [None, "0.32.0"])
def test_the_same_situation_gives_the_same_answer(version: str | None) -> None:
    assert answers(version) == answers(version)


def test_no_change_sets_what_is_set_already() -> None:
    for cell, answer in answers("0.32.0"):
        if isinstance(answer, Proposal) and isinstance(answer.change, SetFlag):
            now = cell.window.config.get(answer.change.name)
            assert now is None or now.value != answer.change.value, answer


def test_unknown_has_no_lever_and_health_has_one() -> None:
    assert not [lever.name for lever in LEVERS if "unknown" in lever.causes]
    for cause in ("healthy-busy", "healthy-idle"):
        assert [lever.name for lever in LEVERS if cause in lever.causes] == ["quiet"]


@pytest.mark.parametrize(
    ("cause", "variant"),
    [
        case
        for case in CASES
        if case[0] not in ("unknown",) and (case[1] or case[0] not in VARIANTS)
    ],
)
def test_every_cause_has_something_to_do(cause: CauseName, variant: str) -> None:
    """With the window that goes with it, each cause and variant has at least one proposal."""
    details = {
        "length": (
            "log_model_too_long",
            (
                "model's max seq len (8192), (1.00 GiB KV cache is needed, ... estimated "
                "maximum model length is 4100."
            ),
        ),
        "states": (
            "log_states_exceeded",
            "max_num_seqs (1024) exceeds available Mamba cache blocks (524)",
        ),
        "argument": ("log_unknown_argument", "vllm: error: unrecognized arguments: --swap-space 4"),
        "startup": (
            "log_gpu_oom_startup",
            "Free memory on device cuda:0 (40.0/80.0 GiB) on startup is less than desired",
        ),
    }
    cell = situation(cause, variant, "0.32.0", "thrash", "usual")
    extra: dict[str, tuple[float, str]] = (
        {"kv_usage_ratio": (0.4, "")} if cause == "slot-bound" else {}
    )
    if variant in details:
        extra[details[variant][0]] = (1.0, details[variant][1])
    signals = dict(cell.window.signals)
    for name, (value, detail) in extra.items():
        found = signal(name, [(NOW, value)], "test", detail)
        assert found is not None
        signals[name] = found
    eager = (
        {"enforce_eager": ConfigValue(True, "flag", "--enforce-eager")} if variant == "slow" else {}
    )
    window = Window(
        cell.window.replica,
        NOW,
        signals,
        EngineConfig({**cell.window.config.values, **eager}),
        cell.window.version,
    )
    proposals = [
        answer
        for lever in LEVERS
        if cause in lever.causes
        and isinstance(answer := lever.propose(Situation(cause, variant, window)), Proposal)
    ]
    assert [each for each in proposals if each.lever != "undo-rollout"]


def test_thrash_is_answered_at_the_edge_first_and_by_restarts_later() -> None:
    cell = situation("kv-preemption-thrash", "", "0.32.0", "thrash", "usual")
    found = [
        answer
        for lever in LEVERS
        if cell.cause in lever.causes and isinstance(answer := lever.propose(cell), Proposal)
    ]
    ordered = sorted(found, key=lambda each: each.rank)
    names = [each.lever for each in ordered]
    assert names[0] == "edge-admission-budget"
    assert not any(each.restarts for each in ordered[:2])
    assert (
        names.index("max-num-active-seqs")
        < names.index("gpu-memory-utilization-up")
        < names.index("scale-out")
    )


def test_classic_advice_is_refused_with_its_reason() -> None:
    cell = situation("kv-preemption-thrash", "", "0.32.0", "thrash", "usual")
    refused = {
        answer.lever
        for lever in LEVERS
        if cell.cause in lever.causes
        and isinstance(answer := lever.propose(cell), NotApplicable)
        and answer.classic
    }
    assert {
        "swap-space", "gpu-memory-utilization-down", "max-num-batched-tokens", "max-model-len", "prefix-caching-on",
        "chunked-prefill-on", "max-num-seqs",
    } <= refused  # fmt: skip
