"""Engines on one card of which some are told their pool: the share is asked for at the start all
the same.
"""

from __future__ import annotations

import pytest

from barostat.io.manifests.read import document_of
from barostat.judge.manifest_check.check import check

POOL = "--kv-cache-memory-bytes 20G"
SHARE = "--gpu-memory-utilization"


def told(*arguments: str) -> list[int]:
    text = "".join(
        f"CUDA_VISIBLE_DEVICES=0 vllm serve Qwen/Qwen3-8B --port {8001 + n} {given} &\n"
        for n, given in enumerate(arguments)
    )
    return [
        one.place.line
        for one in check([document_of(text, "a.sh")]).findings
        if one.rule == "two-engines-one-card"
    ]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ((POOL, POOL), 2),
        (("", POOL), 2),
        ((POOL, ""), 2),
        (("", f"{POOL} {SHARE} 0.3"), 2),
        ((f"{SHARE} 0.3", POOL, f"{POOL} {SHARE} 0.3"), 2),
    ],
)
def test_without_a_share_nearly_all_of_the_card_has_to_be_free(
    arguments: tuple[str, ...], line: int
) -> None:
    assert told(*arguments) == [line]


@pytest.mark.parametrize(
    "arguments",
    [(POOL, f"{POOL} {SHARE} 0.6"), (POOL, f"{SHARE} 0.4"), (f"{SHARE} 0.05", POOL), (POOL,)],
)
def test_a_share_beside_a_told_pool_may_be_right(arguments: tuple[str, ...]) -> None:
    assert told(*arguments) == []


@pytest.mark.parametrize(
    ("arguments", "line"), [(("", ""), 2), ((f"{SHARE} 0.6", f"{SHARE} 0.5"), 2)]
)
def test_shares_are_added_where_no_pool_is_told(arguments: tuple[str, ...], line: int) -> None:
    assert told(*arguments) == [line]
