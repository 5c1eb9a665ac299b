"""A candidate is today's engine with what was asked for, and nothing else."""

from __future__ import annotations

import re

import pytest
from tests.unit.levers.test_levers_laws import answers

from barostat.catalog.models import find_model
from barostat.core.config import ConfigValue, EngineConfig
from barostat.core.errors import InputError
from barostat.core.lever import Proposal
from barostat.core.proposed_change import ProposedChange, SetFlag
from barostat.core.version import parse_version
from barostat.judge.experiments.candidates import Candidate, Today, candidate, is_modelled
from barostat.judge.experiments.pool_change import Sizing
from barostat.judge.experiments.trials import Made, PartsOf, Reshaped, run_trial, times_as_much
from barostat.kv.read_architecture import read_architecture
from barostat.shells.cli.simulate.set_option import changes_in
from barostat.twin.linear_pace import LinearPace
from barostat.twin.request import Row
from barostat.twin.settings import KvGroup, Settings, for_version
from barostat.twin.summary import Slo
from barostat.twin.workload.made import parse_spec

NOW = for_version(
    Settings(kv_blocks=601, groups=(KvGroup(16),), max_model_len=4096, max_num_seqs=64), "0.32.0"
)
PACE = LinearPace(0.02, 2e-5, 1e-4, 2e-8)
LOAD = Made(parse_spec("poisson:rate=6,minutes=0.5,input=400,output=200"))


def _sized() -> Sizing:
    model = find_model("Qwen/Qwen3-8B")
    assert model is not None
    config = EngineConfig(
        {"gpu_memory_utilization": ConfigValue(0.9, "flag", "--gpu-memory-utilization=0.9")}
    )
    return Sizing(
        config,
        parse_version("0.32.0"),
        read_architecture(model.config),
        model.name,
        "H100-SXM5-80GB",
    )


def _tried(words: str, today: Today | None = None) -> Candidate:
    return candidate(words, changes_in(words), today or Today(NOW, _sized()))


@pytest.mark.parametrize(
    ("words", "field", "value"),
    [
        ("max-num-active-seqs=12", "max_num_active_seqs", 12),
        ("watermark=0.05", "watermark_ratio", 0.05),
        ("max-num-queued-reqs=9", "max_queued_requests", 9),
        ("enable-prefix-caching=false", "prefix_caching", False),
        ("scheduling-policy=priority", "policy", "priority"),
        ("num-gpu-blocks-override=300", "kv_blocks", 300),
    ],
)
def test_a_setting_of_the_scheduler_is_set(words: str, field: str, value: object) -> None:
    found = _tried(words)
    assert getattr(found.settings, field) == value
    assert (found.load, found.input_cap, found.kv_budget) == (1.0, None, None)


def test_the_pool_follows_from_memory_precision_and_cards_as_sizing_has_it() -> None:
    more, less = _tried("gpu-memory-utilization=0.95"), _tried("gpu-memory-utilization=0.8")
    assert less.settings.kv_blocks < NOW.kv_blocks < more.settings.kv_blocks
    # 80 GiB: 0.05 of it over a pool of some 54 GiB
    assert more.settings.usable_blocks / NOW.usable_blocks == pytest.approx(1.07, abs=0.02)
    assert _tried("kv-cache-dtype=fp8").settings.usable_blocks == pytest.approx(
        2 * NOW.usable_blocks, rel=0.02
    )
    twice = _tried("tensor-parallel-size=2")
    assert twice.settings.usable_blocks > 2 * NOW.usable_blocks
    assert twice.trial(0, PACE).pace.step_ns(512, 8, 4096) < PACE.step_ns(512, 8, 4096)


def test_what_sizing_lacks_is_said_and_where_the_engine_would_not_start() -> None:
    with pytest.raises(InputError, match=r"cannot be computed without the card \(--gpu\)"):
        _tried("gpu-memory-utilization=0.95", Today(NOW, Sizing(lacks="the card (--gpu)")))
    with pytest.raises(InputError, match="would not start"):
        _tried("gpu-memory-utilization=0.2")


@pytest.mark.parametrize(
    "words",
    [
        "watermark=2",
        "watermark=much",
        "replicas=0",
        "load=0",
        "max-num-seqs=off",
        "api-server-count=2",
        "edge-input-cap=1.5",
        "load=nan",
    ],
)
def test_what_cannot_be_is_refused_with_the_words(words: str) -> None:
    with pytest.raises(InputError, match=f"--set {words}"):
        _tried(words)


def test_a_lever_that_the_version_lacks_is_refused() -> None:
    old = for_version(Settings(kv_blocks=601, max_model_len=4096), "0.20.0")
    with pytest.raises(InputError, match=r"came with 0\.24\.0"):
        _tried("watermark=0.05", Today(old))


def test_replicas_share_the_load_and_yield_together() -> None:
    found = _tried("replicas=+1", Today(NOW, replicas=3))
    assert found.load == pytest.approx(0.75)
    assert found.engines == pytest.approx(4 / 3)
    assert "4 replicas in place of 3" in found.notes[0]
    assert len(times_as_much(LOAD, 2.0).rows(0)) == len(LOAD.rows(0))
    assert times_as_much(LOAD, 2.0).rows(0)[-1].arrival_s == pytest.approx(
        LOAD.rows(0)[-1].arrival_s / 2
    )
    closed = Made(parse_spec("closed:clients=4,requests=40"))
    assert (
        len({row.request_id for row in times_as_much(closed, 0.5).rows(0) if row.after_id is None})
        == 2
    )


def test_caps_budgets_and_tiers_change_what_is_seen() -> None:
    today = run_trial(LOAD, Slo(), Candidate("today", NOW).trial(0, PACE))
    assert today.preempted_per_s > 0.05
    held = run_trial(LOAD, Slo(), _tried("edge-kv-budget=6000").trial(0, PACE))
    assert held.preempted_per_s < today.preempted_per_s / 4
    assert held.refused_ratio == 0
    capped = run_trial(LOAD, Slo(), _tried("edge-input-cap=500").trial(0, PACE))
    assert 0.1 < capped.refused_ratio < 0.5
    spared = run_trial(LOAD, Slo(), _tried("kv-offloading-size=8").trial(0, PACE))
    assert spared.output_tokens_per_s >= today.output_tokens_per_s


def test_each_proposal_is_tried_or_refused_by_the_type_of_its_change() -> None:
    """Only an engine that would not start is refused among those that the twin models; `auto` is
    decided at start.
    """
    roomy = for_version(
        Settings(
            kv_blocks=9001,
            groups=(KvGroup(16),),
            max_model_len=8192,
            max_num_seqs=4096,
            max_num_batched_tokens=16_384,
        )
    )
    today = Today(roomy, _sized())
    changes = {answer.change for _, answer in answers("0.33.0") if isinstance(answer, Proposal)} - {
        SetFlag("max_model_len", "auto")
    }
    refusals = {change: _refusal(change, today) for change in changes}
    modelled = {change for change in changes if is_modelled(change)}
    assert len({type(change) for change in modelled}) >= 4
    assert not [
        why
        for change in modelled
        if (why := refusals[change])
        and not re.search(r"would not start|refuses|must be|must not|does not fit", why)
    ]
    assert all(refusals[change] for change in changes - modelled)


def _refusal(change: ProposedChange, today: Today) -> str:
    try:
        candidate("it", (change,), today)
    except InputError as error:
        return error.what
    return ""


def test_prompts_and_outputs_of_other_lengths() -> None:
    """Lengths scale alone: the instants, and how much of a prompt is shared, stay."""
    rows = (
        Row("a", 0.0, 100, 10, hash_ids=(1, 2, 3), id_tokens=32, output_limit=20),
        Row("b", 1.0, 90, 1, prompt_token_ids=tuple(range(90))),
    )
    longer = Reshaped(PartsOf(rows, whole=True), 3.0, 1.5).rows(0)
    assert [(row.arrival_s, row.input_tokens, row.output_tokens) for row in longer] == [
        (0.0, 300, 15),
        (1.0, 270, 2),
    ]
    assert longer[0].hash_ids == (1, 2, 3)
    assert longer[0].output_limit == 30
    assert len(longer[1].prompt_token_ids or ()) == 270
    shorter = Reshaped(PartsOf(rows, whole=True), 0.5).rows(0)
    assert shorter[0].hash_ids == (1,)
    assert len(shorter[1].prompt_token_ids or ()) == shorter[1].input_tokens == 45


def test_more_adapter_slots_shorten_the_wait_of_requests_that_were_passed_over() -> None:
    load = Made(parse_spec("poisson:rate=3,minutes=1,input=400,output=100,adapters=3"))
    today, more = _tried("max-loras=1"), _tried("max-loras=3")
    assert any("adapter slots is not taken" in told for told in more.notes)
    waits = [run_trial(load, Slo(), made.trial(0, PACE)).ttft_p99_s for made in (today, more)]
    assert waits[0] is not None
    assert waits[1] is not None
    assert waits[1] < waits[0] / 4
