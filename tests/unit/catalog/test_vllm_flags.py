"""The catalogue of arguments, behaviours and defaults answers by version, and says when it
cannot.
"""

from __future__ import annotations

import pytest

from barostat.catalog.vllm_behaviours import BEHAVIOURS, behaves
from barostat.catalog.vllm_defaults import Device, default
from barostat.catalog.vllm_flags import FLAGS, canonical_name, has_flag, is_switch, known_flag
from barostat.core.version import EngineVersion, parse_version


def version(text: str) -> EngineVersion:
    """The version that the text names."""
    found = parse_version(text)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("name", "at", "expected"),
    [
        ("swap_space", "0.17.1", True),
        ("swap_space", "0.18.0", False),
        ("watermark", "0.23.0", False),
        ("watermark", "0.24.0", True),
        ("max_num_queued_reqs", "0.28.0", False),
        ("max_num_queued_reqs", "0.29.0", True),
        ("max_num_active_seqs", "0.31.0", True),
        ("max_num_active_seqs", "0.30.0", False),
        ("kv_offloading_size", "0.11.0", False),
        ("kv_offloading_size", "0.11.1", True),
        ("kv_cache_memory_bytes", "0.10.2", True),
        ("max_num_partial_prefills", "0.27.0", False),
        ("num_scheduler_steps", "0.10.1", False),
        ("cuda_graph_sizes", "0.12.0", True),
        ("cuda_graph_sizes", "0.13.0", False),
        ("max_num_seqs", "0.2.7", True),
        ("enable_prefix_caching", "0.3.0", None),
        ("api_server_count", "0.9.0", None),
        ("no_such_flag", "0.32.0", None),
    ],
)
def test_an_argument_is_there_between_its_first_and_last_version(
    name: str, at: str, expected: bool | None
) -> None:
    assert has_flag(name, version(at)) is expected


def test_without_a_version_nothing_is_claimed() -> None:
    assert {has_flag(name, None) for name in FLAGS} == {None}
    assert {behaves(name, None) for name in BEHAVIOURS} == {None}


def test_a_name_that_we_do_not_have_is_ours_to_miss() -> None:
    assert known_flag("--some-new-thing", version("0.33.0")) == "not in our catalogue"


@pytest.mark.parametrize(
    ("spelled", "name"),
    [
        ("--max-num-seqs", "max_num_seqs"),
        ("--max_num_seqs", "max_num_seqs"),
        ("-tp", "tensor_parallel_size"),
        ("--device-memory-utilization", "gpu_memory_utilization"),
        ("--max-num-batched", "max_num_batched_tokens"),
        ("--enable-chunked", "enable_chunked_prefill"),
        ("--max-num-", "max_num_"),
        ("-x", "-x"),
    ],
)
def test_every_spelling_leads_to_one_name(spelled: str, name: str) -> None:
    assert canonical_name(spelled) == name


def test_switches_take_no_value() -> None:
    assert is_switch("enable_prefix_caching")
    assert is_switch("headless")
    assert not is_switch("max_num_seqs")
    assert not is_switch("never_heard_of")


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


@pytest.mark.parametrize(
    ("name", "before", "since"),
    [("full-sequence-admission", "0.18.1", "0.19.0"), ("v1-default", "0.7.3", "0.8.0")],
)
def test_a_behaviour_begins_with_its_version(name: str, before: str, since: str) -> None:
    assert behaves(name, version(before)) is False
    assert behaves(name, version(since)) is True


def test_a_behaviour_can_end() -> None:
    assert behaves("swap-space-ignored", version("0.17.1")) is True
    assert behaves("swap-space-ignored", version("0.18.0")) is False
