"""How many graphs are recorded and what is charged for them, against public start-up logs of 0.19
to 0.27 that state both.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from barostat.catalog.models import find_model
from barostat.core.units import GIB
from barostat.core.version import parse_version
from barostat.kv.deployment import Deployment
from barostat.kv.profiled.graphs import (
    attends_with_flashinfer,
    capture_sizes,
    charged_bytes,
    counts_graphs,
    recorded_graphs,
)
from barostat.kv.read_architecture import read_architecture


def model(name: str) -> Any:
    found = find_model(name)
    assert found is not None
    return read_architecture(found.config, name)


def flags(version: str, seqs: int, drafts: int = 0, kv: str = "auto", **changes: Any) -> Deployment:
    found = parse_version(version)
    assert found is not None
    return Deployment(
        version=found, max_model_len=8192, max_num_batched_tokens=8192, max_num_seqs=seqs, num_speculative_tokens=drafts,
        kv_cache_dtype=kv, **changes,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "seqs", "drafts", "kv", "capability", "graphs"),
    [
        ("Qwen/Qwen3-8B", 1024, 0, "auto", 9.0, (51, 51)), ("Qwen/Qwen2.5-7B-Instruct", 256, 0, "auto", 8.9, (51, 35)),
        ("google/gemma-4-31B-it", 20, 0, "auto", 12.0, (8, 5)), ("Qwen/Qwen3.6-27B", 128, 0, "auto", 8.6, (35, 19)),
        ("Qwen/Qwen3.6-27B", 10, 4, "auto", 12.0, (12, 7)), ("Qwen/Qwen3.6-27B", 10, 5, "auto", 12.0, (16, 8)),
        ("Qwen/Qwen3.6-27B", 10, 4, "fp8", 12.0, (15, 0)), ("Qwen/Qwen3.6-27B", 2, 5, "fp8", 8.6, (6, 0)),
        ("nvidia/Qwen3.6-35B-A3B-NVFP4", 1, 0, "fp8", 12.0, (2, 1)),
    ],
)  # fmt: skip
def test_as_many_graphs_are_recorded_as_logs_say(
    name: str, seqs: int, drafts: int, kv: str, capability: float, graphs: tuple[int, int]
) -> None:
    assert recorded_graphs(model(name), flags("0.25.0", seqs, drafts, kv), capability) == graphs


@pytest.mark.parametrize(
    ("name", "seqs", "kv", "capability", "gib"),
    [
        ("Qwen/Qwen3-8B", 1024, "auto", 9.0, 0.505), ("Qwen/Qwen3-30B-A3B", 1024, "auto", 9.0, 0.658),
        ("Qwen/Qwen2.5-7B-Instruct", 256, "auto", 8.9, 0.53), ("Qwen/Qwen3.6-27B", 256, "auto", 8.9, 1.11),
        ("Qwen/Qwen3.6-27B", 256, "auto", 12.1, 1.56), ("nvidia/Qwen3.6-35B-A3B-NVFP4", 1, "fp8", 12.1, 0.43),
    ],
)  # fmt: skip
def test_the_charge_is_near_what_the_engine_estimated(
    name: str, seqs: int, kv: str, capability: float, gib: float
) -> None:
    assert charged_bytes(
        model(name), flags("0.26.0", seqs, kv=kv), capability
    ) / GIB == pytest.approx(gib, rel=0.23)


@pytest.mark.parametrize(
    ("name", "kv", "capability", "flashinfer"),
    [
        ("Qwen/Qwen3-8B", "auto", 10.0, True), ("Qwen/Qwen3-8B", "auto", 12.0, False), ("Qwen/Qwen3-8B", "fp8", 12.0, True),
        ("Qwen/Qwen3-8B", "fp8_e5m2", 8.6, True), ("Qwen/Qwen3-8B", "fp8", 9.0, False), ("Qwen/Qwen3-8B", "fp8", 0.0, False),
        ("deepseek-ai/DeepSeek-V2-Lite", "fp8", 10.0, False), ("google/gemma-4-31B-it", "fp8", 12.0, False),
    ],
)  # fmt: skip
def test_where_attention_is_flashinfers(
    name: str, kv: str, capability: float, flashinfer: bool
) -> None:
    assert (
        attends_with_flashinfer(model(name), flags("0.26.0", 16, kv=kv), capability) is flashinfer
    )


def test_graphs_are_charged_on_amd_since_0_26() -> None:
    assert [
        counts_graphs(replace(flags(version, 16), rocm=True)) for version in ("0.25.1", "0.26.0")
    ] == [
        False,
        True,
    ]
    assert counts_graphs(flags("0.20.0", 16))


@pytest.mark.parametrize(
    ("version", "asked", "counted"),
    [
        ("0.17.1", True, False), ("0.18.0", True, True), ("0.19.0", None, False), ("0.20.0", None, True), ("0.20.0", False, False),
        ("0.32.0", False, False),
    ],
)  # fmt: skip
def test_a_variable_asks_for_the_charge_before_it_was_the_rule_and_does_without_it_after(
    version: str, asked: bool | None, counted: bool
) -> None:
    assert counts_graphs(flags(version, 16, estimates_graphs=asked)) is counted


def test_more_sequences_have_more_sizes_up_to_the_largest() -> None:
    counts = [len(capture_sizes(flags("0.25.0", seqs))) for seqs in (1, 4, 16, 128, 256)]
    assert counts == sorted(set(counts))
    assert capture_sizes(flags("0.25.0", 256)) == capture_sizes(flags("0.25.0", 1024))
    assert len(capture_sizes(flags("0.25.0", 1024), capability=10.0)) > 51


@pytest.mark.parametrize(
    ("changes", "sizes"),
    [
        ({"largest_graph": 8}, [1, 2, 4, 8]), ({"largest_graph": 20}, [1, 2, 4, 8, 16]), ({"largest_graph": 0}, []),
        ({"graph_sizes": (4, 1, 4, 9000)}, [1, 4]),
    ],
)  # fmt: skip
def test_sizes_are_those_that_were_given(changes: dict[str, Any], sizes: list[int]) -> None:
    given = flags("0.32.0", 256, **changes)
    assert capture_sizes(given) == sizes
    assert recorded_graphs(model("Qwen/Qwen3-8B"), given, 9.0) == (len(sizes), len(sizes))
