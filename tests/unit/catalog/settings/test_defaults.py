"""Defaults follow the version and the card, and say when either is not known."""

from __future__ import annotations

import pytest

from barostat.catalog.settings.defaults import Device, default
from barostat.core.version import EngineVersion, parse_version


def version(text: str) -> EngineVersion:
    """The version that the text names."""
    found = parse_version(text)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("name", "at", "value"),
    [
        ("gpu_memory_utilization", "0.19.1", 0.9),
        ("gpu_memory_utilization", "0.20.0", 0.92),
        ("enable_prefix_caching", "0.7.3", False),
        ("enable_prefix_caching", "0.8.0", True),
        ("watermark", "0.24.0", 0.0),
    ],
)
def test_a_default_follows_the_version(name: str, at: str, value: float) -> None:
    found = default(name, version(at))
    assert found is not None
    assert (found.value, found.certain) == (value, True)


def test_a_default_ends_with_its_argument() -> None:
    assert default("swap_space", version("0.18.0")) is None
    assert default("watermark", version("0.23.0")) is None
    assert default("never_heard_of", version("0.23.0")) is None


def test_a_default_that_differs_between_versions_is_uncertain_without_one() -> None:
    found = default("gpu_memory_utilization", None)
    assert found is not None
    assert not found.certain


@pytest.mark.parametrize(
    ("card", "gib", "at", "seqs", "budget"),
    [
        ("NVIDIA H100 80GB HBM3", 79.6, "0.32.0", 1024, 8192),
        ("NVIDIA A100-SXM4-80GB", 79.3, "0.32.0", 256, 2048),
        ("NVIDIA A100-SXM4-80GB", 79.3, "0.8.5", 1024, 8192),
        ("NVIDIA L40S", None, "0.12.0", 256, 2048),
        ("AMD Instinct MI300X", 191.5, "0.27.1", 1024, 8192),
        ("AMD Instinct MI300X", 191.5, "0.28.0", 1024, 16384),
        ("NVIDIA B200", None, "0.28.0", 1024, 16384),
        (None, 23.7, "0.32.0", 256, 2048),
        (None, 141.0, "0.32.0", 1024, 8192),
    ],
)
def test_batch_defaults_follow_the_memory_of_the_card(
    card: str | None, gib: float | None, at: str, seqs: int, budget: int
) -> None:
    device = Device(card, gib)
    found = [
        default(name, version(at), device) for name in ("max_num_seqs", "max_num_batched_tokens")
    ]
    assert [(each.value, each.certain) for each in found if each is not None] == [
        (seqs, True),
        (budget, True),
    ]


def test_batch_defaults_are_uncertain_where_the_card_is_not_known() -> None:
    for device in (Device(), Device(None, 79.0), Device("Some Accelerator")):
        found = default("max_num_seqs", version("0.32.0"), device)
        assert found is not None
        assert not found.certain


def test_a_cpu_engine_multiplies_by_its_world() -> None:
    found = default("max_num_seqs", version("0.32.0+cpu"), Device(is_cpu=True), world_size=2)
    assert found is not None
    assert found.value == 256


def test_v0_had_256_sequences_and_no_fixed_budget() -> None:
    seqs = default("max_num_seqs", version("0.6.4"), Device("NVIDIA H100", 80.0))
    assert seqs is not None
    assert seqs.value == 256
    assert default("max_num_batched_tokens", version("0.6.4")) is None
