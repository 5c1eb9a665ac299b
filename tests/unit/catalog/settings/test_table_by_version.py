"""Arguments by version and by spelling; what is not known is not claimed."""

from __future__ import annotations

import pytest

from barostat.catalog.settings.table import (
    SETTINGS,
    canonical_name,
    has_flag,
    is_switch,
    known_flag,
)
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
    assert {has_flag(name, None) for name in SETTINGS} == {None}


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
