"""Memory outside of PyTorch: what links and the tuning of kernels take, by version and card,
against public start-up logs.
"""

from __future__ import annotations

from typing import Any

import pytest

from barostat.catalog.cards import find_card
from barostat.catalog.models import find_model
from barostat.core.units import GIB
from barostat.core.version import parse_version
from barostat.kv.deployment import Deployment
from barostat.kv.profiled.fitted import FITTED
from barostat.kv.profiled.outside_torch import non_torch, with_delta_tuning
from barostat.kv.read_architecture import read_architecture


def flags(version: str, tp: int = 1, **changes: Any) -> Deployment:
    found = parse_version(version)
    assert found is not None
    return Deployment(
        version=found,
        max_model_len=8192,
        max_num_batched_tokens=8192,
        max_num_seqs=16,
        tp=tp,
        **changes,
    )


@pytest.mark.parametrize(("version", "tp", "capability", "gib"), [
    ("0.10.2", 2, 9.0, 1.38),  # Qwen3-Next on two H200
    ("0.10.2", 2, 8.0, 0.1),
    ("0.10.2", 1, 9.0, 0.07),
    ("0.19.0", 2, 9.0, 2.08),
    ("0.19.0", 4, 8.9, 0.25),
])  # fmt: skip
def test_links_take_memory_of_their_own(
    version: str, tp: int, capability: float, gib: float
) -> None:
    assert non_torch(flags(version, tp), capability, FITTED).value / GIB == pytest.approx(
        gib, abs=0.05
    )


@pytest.mark.parametrize(("tp", "capability", "gib"), [
    (8, 8.0, 2.10),  # DeepSeek-Coder-V2-Lite on eight A100, 0.7.1
    (2, 8.9, 0.25),  # two RTX 4090, 0.7.2
    (1, 8.0, 0.1),
])  # fmt: skip
def test_the_first_engine_counts_what_its_ranks_meet_by(
    tp: int, capability: float, gib: float
) -> None:
    found = non_torch(flags("0.7.2", tp, generation="V0"), capability, FITTED)
    assert found.low < gib * GIB < found.high
    assert (found.value > 1 * GIB) is (gib > 1)


def test_what_meets_over_no_switch_multicasts_nothing() -> None:
    """Two H200 NVL, 0.23.0, eager: 2.85 GiB are neither weights nor the pool, and the sampler alone
    takes 1.9.
    """
    bridged, switched = (
        non_torch(flags("0.23.0", 2), 9.0, FITTED, switched=both) for both in (False, True)
    )
    assert bridged.value < 0.5 * GIB < 2 * GIB < switched.value
    named = {
        name: find_card(name)
        for name in ("NVIDIA H200 NVL", "NVIDIA H100 PCIe", "NVIDIA H200", "NVIDIA H100 80GB HBM3")
    }
    assert [card is not None and card.switched for card in named.values()] == [
        False,
        False,
        True,
        True,
    ]


def test_four_blackwell_cards_on_a_bus_may_take_what_a_log_of_0_27_says() -> None:
    found = non_torch(flags("0.27.1", 4), 12.0, FITTED)
    assert found.low < 1.7 * GIB < found.high


@pytest.mark.parametrize(("name", "version", "capability", "gib"), [
    ("Qwen/Qwen3.5-35B-A3B", "0.18.1", 12.1, 3.4),
    ("Qwen/Qwen3.5-35B-A3B", "0.17.1", 12.0, 0.0),
    ("Qwen/Qwen3.5-35B-A3B", "0.20.0", 12.0, 0.0),
    ("Qwen/Qwen3.5-35B-A3B", "0.19.0", 8.9, 0.0),
    ("Qwen/Qwen3.5-35B-A3B", "0.19.0", 9.0, 0.0),
    ("Qwen/Qwen3-30B-A3B", "0.18.1", 12.1, 0.0),
])  # fmt: skip
def test_tuning_delta_nets_leaves_memory_behind_on_blackwell_until_descriptors_are_off(
    name: str, version: str, capability: float, gib: float
) -> None:
    listed = find_model(name)
    assert listed is not None
    model, set_up = read_architecture(listed.config, name), flags(version)
    alone = non_torch(set_up, capability, FITTED)
    tuned = with_delta_tuning(alone, model, set_up, capability, FITTED)
    assert (tuned.value - alone.value) / GIB == pytest.approx(gib)
    assert tuned.low == alone.low


@pytest.mark.parametrize(("version", "tp", "least", "most"), [
    ("0.7.2", 1, 0.46, 0.62),  # three logs of V0 on one Radeon that state the part
    ("0.28.0", 1, 0.46, 0.62),
    ("0.19.1", 2, 0.46, 0.62),
    ("0.9.2", 2, 1.2, 1.5),  # two MI300X: 1.4 are not weights, sampler or pool
])  # fmt: skip
def test_amd_cards_have_a_context_of_their_own(
    version: str, tp: int, least: float, most: float
) -> None:
    found = non_torch(flags(version, tp, rocm=True), 0.0, FITTED)
    assert least <= found.value / GIB <= most
    assert found.low < found.value < found.high
