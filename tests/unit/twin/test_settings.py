"""Settings are refused as the engine refuses them, and switched by version."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from barostat.catalog.vllm_versions import NEWEST_READ
from barostat.core.errors import InputError
from barostat.twin.settings import KvGroup, Settings, check, for_version, newer_than_read

PLAIN = Settings(kv_blocks=100, max_model_len=1000)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"kv_blocks": 1}, "kv blocks"),
        ({"max_num_seqs": 0}, "max_num_seqs"),
        ({"max_num_batched_tokens": 100}, "max_num_batched_tokens"),
        ({"max_num_active_seqs": 500}, "max_num_active_seqs"),
        ({"watermark_ratio": 1.0}, "watermark"),
        ({"policy": "sjf"}, "policy"),
        ({"long_prefill_token_threshold": 1001}, "long_prefill"),
        ({"chunked_prefill": False, "max_num_batched_tokens": 512}, "chunked prefill"),
        ({"max_queued_requests": -1}, "max_queued_requests"),
        ({"groups": ()}, "block size"),
    ],
)
def test_what_the_engine_refuses_is_refused(wrong: dict[str, Any], named: str) -> None:
    with pytest.raises(InputError, match=named):
        check(replace(PLAIN, **wrong))


@pytest.mark.parametrize(
    ("version", "wrong"),
    [
        ("0.30.0", {"max_num_active_seqs": 4}),
        ("0.28.0", {"max_queued_tokens": 10}),
        ("0.23.0", {"watermark_ratio": 0.1}),
        ("0.8.0", {}),
        ("main", {}),
    ],
)
def test_what_a_version_lacks_is_refused(version: str, wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        for_version(replace(PLAIN, **wrong), version)


def test_versions_decide_otherwise() -> None:
    assert not for_version(PLAIN, "0.18.0").reserve_full_isl
    assert for_version(PLAIN, "0.19.0").reserve_full_isl
    assert for_version(PLAIN, "0.33.0").behaviour.self_preempted_skips_on
    assert not for_version(PLAIN, "0.32.0").behaviour.self_preempted_skips_on
    assert not for_version(PLAIN, "0.22.0").behaviour.unhashed_reused_first


def test_a_window_is_admitted_with_what_it_can_hold_at_most() -> None:
    """Gemma-3-27B, asynchronous, 8192 tokens a step: 1089 blocks; without asynchrony 577."""
    window = KvGroup(16, 1024)
    settings = Settings(
        kv_blocks=40960,
        groups=(window,),
        max_model_len=131072,
        max_num_batched_tokens=8192,
        async_scheduling=True,
    )
    assert settings.admission_cap_blocks(window) == 1089
    assert replace(settings, async_scheduling=False).admission_cap_blocks(window) == 577
    assert replace(settings, max_model_len=8192).admission_cap_blocks(window) == 513


def test_sizes_of_several_groups() -> None:
    settings = replace(PLAIN, groups=(KvGroup(32), KvGroup(48, 100)))
    assert (settings.hash_tokens, settings.aligned_tokens) == (16, 96)
    assert PLAIN.fits(99 * 16)
    assert not PLAIN.fits(99 * 16 + 1)


@pytest.mark.parametrize(
    ("version", "newer"),
    [
        ("0.12.0", False),
        (NEWEST_READ, False),
        ("0.33.9", False),
        ("0.34.0", True),
        ("1.0", True),
        ("main", False),
    ],
)
def test_a_version_that_nobody_read_is_told(version: str, newer: bool) -> None:
    said = newer_than_read(version)
    assert bool(said) is newer
    assert not newer or (version in said and NEWEST_READ in said)
