"""What several symptoms share: conditions over readings, halves, the queue's limits, the pool's
ceiling, counted preemptions.
"""

from __future__ import annotations

import pytest

from barostat.catalog.polling import SAMPLED_S
from barostat.catalog.signals import signal
from barostat.core.config import ConfigValue, EngineConfig
from barostat.core.signal import Signal
from barostat.core.window import Window
from barostat.symptoms._halves import change
from barostat.symptoms._holding import holding, recent, together
from barostat.symptoms._host import engine_has_slack, kept_from_engine
from barostat.symptoms._lines import quote
from barostat.symptoms._pool import Ceiling, ceiling
from barostat.symptoms._preemption import preemptions
from barostat.symptoms._queue import computed_tokens_per_step, queue, running_limit, steps_are_light

AT = 1000.0


def _signal(name: str, *values: float, every_s: float = 5.0) -> Signal:
    first = AT - every_s * (len(values) - 1)
    made = signal(name, [(first + every_s * k, value) for k, value in enumerate(values)], "test")
    assert made is not None
    return made


def _window(*signals: Signal, **config: float) -> Window:
    settings = EngineConfig(
        {name: ConfigValue(value, "flag", "test") for name, value in config.items()}
    )
    return Window("replica", AT, {found.name: found for found in signals}, settings)


@pytest.mark.parametrize(
    ("values", "holds", "how"),
    [
        ((1,), True, "in the one reading there is"),
        ((0,), False, ""),
        ((1, 1), True, "in both readings"),
        ((0, 1), False, ""),
        ((1, 1, 1), True, "for 10 s"),
        ((1, 0, 1, 1, 1), True, "in 4 of 5 readings"),
        ((0, 0, 0, 0, 0, 0, 1, 1, 1), True, "for the last 10 s"),
        ((0, 0, 0, 0, 0, 0, 0, 1, 1), False, ""),
        ((1, 1, 1, 1, 1, 1, 0, 0, 0), False, ""),
        ((1, 0, 1, 0, 1, 0), False, ""),
    ],
)
def test_holding(values: tuple[float, ...], holds: bool, how: str) -> None:
    held = holding(together(_signal("waiting_requests", *values)), lambda value: value > 0)
    assert held.holds is holds
    if holds:
        assert held.how == how


def test_nothing_holds_over_nothing() -> None:
    assert not holding((), lambda: True).holds


def test_confidence_grows_with_readings() -> None:
    seen = [
        holding(
            together(_signal("waiting_requests", *[1.0] * n)), lambda value: value > 0
        ).confidence
        for n in (1, 2, 3)
    ]
    assert seen == sorted(seen)
    assert seen[0] < 0.7 < seen[2]


def test_only_the_last_minutes_are_judged() -> None:
    long_ago_and_now = _signal("waiting_requests", *[1.0] * 20, *[0.0] * 6, every_s=60.0)
    assert not holding(together(long_ago_and_now), lambda value: value > 0).holds
    assert recent(long_ago_and_now).high == 0


def test_together_takes_the_nearest_reading_and_leaves_out_what_has_none() -> None:
    usage, running = (
        _signal("kv_usage_ratio", 0.1, 0.2, 0.3, every_s=SAMPLED_S + 10),
        _signal("running_requests", 7.0),
    )
    moments = together(usage, running)
    assert [moment.values for moment in moments] == [(0.3, 7.0)]
    limit = _signal("max_running_requests", 64.0)
    assert len(together(usage, limit)) == 3, "a limit lasts"


def test_change_compares_halves_by_their_medians() -> None:
    moved = change(_signal("prompt_tokens_mean", 10, 12, 900, 11, 30, 31, 29, 33))
    assert moved is not None
    assert (moved.earlier, moved.later) == (11.5, 30.5)
    assert change(_signal("prompt_tokens_mean", 10, 20, 30)) is None
    nothing = change(_signal("prompt_tokens_mean", 0, 0, 0, 0))
    assert nothing is not None
    assert nothing.ratio == 1.0


def test_pinned_in_fine_and_coarse_pools() -> None:
    pinned = Ceiling().reached
    assert pinned(0.96, 100, 0)
    assert not pinned(0.9, 100, 5)
    assert pinned(0.85, 4, 1)
    assert not pinned(0.85, 4, 0)
    assert not pinned(0.6, 1, 5), (
        "steps may be full: a single request of 60 % may not be what holds the queue"
    )
    assert Ceiling().has_no_room(0.6, 1)
    assert not Ceiling().has_no_room(0.0, 0)


def test_where_steps_have_room_the_size_of_the_next_one_decides() -> None:
    light = Ceiling(light_steps=True).reached
    assert light(0.56, 1, 1), "another one of 56 % does not fit"
    assert not light(0.45, 1, 1)
    assert not light(0.56, 1, 0), "nobody waits"
    assert not light(0.5, 40, 3), "in a pool of many one more always fits"
    small_prompts = Ceiling(light_steps=True, need_ratio=0.1).reached
    assert not small_prompts(0.75, 3, 1), "those that run have grown; a new one needs a tenth"
    assert Ceiling(light_steps=True, need_ratio=0.3, watermark_ratio=0.15).reached(0.57, 2, 1), (
        "the watermark is kept free"
    )


def test_the_ceiling_is_read_from_what_the_engine_shows() -> None:
    shown = _window(
        _signal("kv_pool_tokens", 8000),
        _signal("prompt_tokens_p50", 4000),
        _signal("prefix_hit_ratio", 0.5),
        watermark=0.1,
        max_num_seqs=64,
    )
    assert ceiling(shown, light_steps=True) == Ceiling(True, 0.25, 0.1)
    assert ceiling(_window(), light_steps=False) == Ceiling(False, None, 0.0)


def test_queue_prefers_what_waits_for_capacity() -> None:
    both = _window(_signal("capacity_waiting_requests", 2), _signal("waiting_requests", 9))
    assert queue(both) is both.signals["capacity_waiting_requests"]
    assert queue(_window()) is None


def test_running_limit_is_the_smaller_setting_unless_contradicted() -> None:
    assert running_limit(_window(max_num_seqs=64, max_num_active_seqs=16)) == 16
    assert running_limit(_window(_signal("max_running_requests", 8), max_num_seqs=64)) == 8
    assert running_limit(_window(_signal("running_requests", 70), max_num_seqs=64)) is None
    assert running_limit(_window()) is None


def test_cached_prompt_tokens_are_no_work() -> None:
    rates = [
        _signal("prompt_tokens_per_s", 900, 900),
        _signal("generation_tokens_per_s", 100, 100),
        _signal("prefix_hit_ratio", 0.5),
    ]
    old = [_signal("tokens_per_step", 100, 100), _signal("steps_per_s", 10, 10)]
    new = [_signal("tokens_per_step", 55, 55), _signal("steps_per_s", 10, 10)]
    assert computed_tokens_per_step(_window(*rates, *old)) == pytest.approx(55), (
        "booked 1000 per second: all of the prompts"
    )
    assert computed_tokens_per_step(_window(*rates, *new)) == pytest.approx(55), (
        "booked 550 per second: what was computed"
    )
    assert computed_tokens_per_step(_window(*old)) == 100
    assert computed_tokens_per_step(_window()) is None
    assert steps_are_light(_window(*old, max_num_batched_tokens=2048)) is True
    assert steps_are_light(_window(*old, max_num_batched_tokens=128)) is False
    assert steps_are_light(_window(*old)) is None


def test_preemptions_by_request_and_by_second() -> None:
    seen = preemptions(
        _window(
            _signal("preemptions_in_window", 10),
            _signal("finished_in_window", 40),
            _signal("running_requests", *[5.0] * 11),
        )
    )
    assert seen is not None
    assert (seen.count, seen.per_finished, seen.per_s) == (10, 0.25, 0.2)
    assert preemptions(_window()) is None


def test_what_v0_counted_since_its_start_does_not_outdo_what_this_window_counted() -> None:
    since_start = _signal("log_preempted_v0", 951)
    alone = preemptions(_window(since_start))
    beside = preemptions(_window(since_start, _signal("preemptions_in_window", 84)))
    quiet = preemptions(_window(since_start, _signal("preemptions_in_window", 0)))
    assert alone is not None
    assert (alone.count, alone.at_least) == (951, True)
    assert beside is not None
    assert (beside.count, beside.at_least) == (84, False)
    assert quiet is not None
    assert quiet.count == 951


def test_slack_of_the_engine_core() -> None:
    core, queued = (
        _signal("engine_core_cpu_cores", 0.3, 0.3, 0.3),
        _signal("waiting_requests", 5, 5, 5),
    )
    assert engine_has_slack(_window(core)) is True
    assert engine_has_slack(_window(core, queued, _signal("worker_cpu_cores", 7, 7, 7))) is False
    assert engine_has_slack(_window(queued)) is False
    assert engine_has_slack(_window()) is None


def test_requests_kept_from_the_engine_by_littles_law() -> None:
    gauges = [
        _signal("running_requests", 1, 1),
        _signal("waiting_requests", 0, 0),
        _signal("e2e_p50_s", 0.5),
    ]
    assert kept_from_engine(_window(*gauges, _signal("finished_per_s", 50, 50))) == (25, 1)
    assert kept_from_engine(_window(*gauges, _signal("finished_per_s", 3, 3))) is None
    assert kept_from_engine(_window(*gauges)) is None


def test_a_long_quote_is_cut_between_words() -> None:
    text = (
        "0/12 nodes are available: 8 node(s) had untolerated taint {dedicated: train}, 4 "
        "Insufficient nvidia.com/gpu."
    )
    assert (
        quote(text)
        == "0/12 nodes are available: 8 node(s) had untolerated taint {dedicated: train}, 4…"
    )
    assert quote("x" * 200) == "x" * 89 + "…"
    assert quote("two\n  lines") == "two lines"
