"""From a capacity plan to the twin's settings: every flag arrives, and what the twin does not model
is said.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.planned_engines import planned

from barostat.core.errors import InputError
from barostat.judge.sizing.planned_twin import settings_of_plan
from barostat.kv.layer_spec import Kind, LayerSpec
from barostat.twin.drafting import Drafting


def test_the_flags_arrive() -> None:
    made = planned(
        "Qwen/Qwen3-8B", "H100", "--max-num-seqs", "40", "--max-num-batched-tokens", "1024", "--max-num-active-seqs", "20",
        "--watermark", "0.1", "--max-num-queued-reqs", "7", "--max-num-queued-tokens", "9000",
        "--long-prefill-token-threshold", "300", "--scheduling-policy", "priority", version="0.32.0",
    )  # fmt: skip
    found = settings_of_plan(made)
    assert found.kv_blocks == made.pool.blocks
    assert (found.max_model_len, found.max_num_seqs, found.max_num_batched_tokens) == (
        8192,
        40,
        1024,
    )
    assert (
        found.max_num_active_seqs,
        found.watermark_ratio,
        found.long_prefill_token_threshold,
    ) == (20, 0.1, 300)
    assert (found.max_queued_requests, found.max_queued_tokens, found.policy) == (
        7,
        9000,
        "priority",
    )


def test_nothing_asked_is_nothing_set() -> None:
    found = settings_of_plan(planned("Qwen/Qwen3-8B", "H100"))
    assert (found.max_num_active_seqs, found.max_queued_requests, found.max_queued_tokens) == (
        None,
        None,
        None,
    )
    assert (found.policy, found.watermark_ratio) == ("fcfs", 0.0)


def test_a_window_is_a_group_of_its_own() -> None:
    groups = settings_of_plan(planned("openai/gpt-oss-20b", "H100", version="0.32.0")).groups
    assert {group.window_tokens for group in groups} == {None, 128}


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ("chunked", ""),
        ("state", "how vLLM 0.19.0 caches states is not known"),
        ("cross", "the twin models full attention"),
    ],
)
def test_what_is_not_modelled_is_said(kind: Kind, says: str) -> None:
    made = planned("Qwen/Qwen3-8B", "H100")  # prefix caching is on
    group = made.layout.groups[0]
    name, spec = group.layers[0]
    other = replace(group, layers=((name, replace(spec, kind=kind, reach_tokens=512)),))
    made = replace(made, layout=replace(made.layout, groups=(other,)))
    assert isinstance(spec, LayerSpec)
    if says:
        with pytest.raises(InputError, match=says):
            settings_of_plan(made)
    else:
        assert settings_of_plan(made).groups[0].chunk_tokens == 512


def test_a_pool_without_a_block_names_the_card() -> None:
    with pytest.raises(InputError, match="does not fit") as told:
        settings_of_plan(planned("Qwen/Qwen3-32B", "L4"))
    assert "--gpu L4" in str(told.value)


def _drafting(speculation: str, *flags: str) -> Drafting | None:
    made = planned("Qwen/Qwen3-8B", "H100", "--speculative-config", speculation, *flags)
    return settings_of_plan(made, 0.7).drafting


@pytest.mark.parametrize(
    ("speculation", "drafting"),
    [
        ('{"method": "ngram", "num_speculative_tokens": 4}', Drafting(4, 0.7)),
        (
            '{"method": "eagle3", "model": "e", "num_speculative_tokens": 3}',
            Drafting(3, 0.7, 3, drops_block=True),
        ),
        ('{"model": "Qwen/Qwen3-0.6B", "num_speculative_tokens": 2}', Drafting(2, 0.7, 2, 1)),
    ],
)
def test_a_drafter_arrives(speculation: str, drafting: Drafting) -> None:
    assert _drafting(speculation) == drafting


def test_drafts_need_their_acceptance() -> None:
    speculation = '{"method": "ngram", "num_speculative_tokens": 4}'
    made = planned("Qwen/Qwen3-8B", "H100", "--speculative-config", speculation)
    assert settings_of_plan(made).drafting is None


@pytest.mark.parametrize(
    "speculation",
    [
        '{"method": "dflash", "model": "d", "num_speculative_tokens": 4}',
        '{"method": "eagle3", "model": "e"}',
    ],
)
def test_drafters_that_are_not_simulated_are_refused(speculation: str) -> None:
    with pytest.raises(InputError, match="simulat"):
        _drafting(speculation)
