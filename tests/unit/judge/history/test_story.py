"""The story that steps tell: onset, end, what it was, before and after."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.measured_past import NIGHT, NIGHT_AT, STEP_S, night

from barostat.judge.history.steps import Step
from barostat.judge.history.story import story_of


def test_a_night_is_told_from_its_onset_to_its_end() -> None:
    past = night(*NIGHT)
    story = past.story
    assert [(one.cause, round((one.end - one.start) / STEP_S)) for one in story.episodes] == [
        ("healthy-busy", 3), ("kv-preemption-thrash", 4), ("kv-admission-queueing", 2), ("healthy-idle", 2),
    ]  # fmt: skip
    assert story.main is not None
    assert story.main.cause == "kv-preemption-thrash"
    assert story.onset == (NIGHT_AT + 3 * STEP_S, NIGHT_AT + 4 * STEP_S)
    assert story.ended == (NIGHT_AT + 9 * STEP_S, NIGHT_AT + 10 * STEP_S)
    assert story.during["preemptionsPerSecond"] > 0 == story.before["preemptionsPerSecond"]
    assert story.during["waiting"] > story.after["waiting"]
    assert story.next[0].lever.startswith("edge")


def test_time_of_which_nothing_is_kept_is_no_time_in_trouble() -> None:
    steps = night(
        "healthy-busy", "kv-preemption-thrash", "kv-preemption-thrash", "healthy-busy"
    ).steps
    kept = [
        replace(step, start=step.start + away, end=step.end + away)
        for step, away in zip(steps, (0, 7200, 14_400, 21_600), strict=True)
    ]
    story = story_of(kept)
    assert [(one.cause, one.end - one.start) for one in story.episodes if one.harmful] == [
        ("kv-preemption-thrash", STEP_S)
    ] * 2
    assert story.onset == (kept[0].end, kept[1].end)
    assert story.ended == (kept[2].end, kept[3].end)


def test_harm_at_the_edges_has_no_onset_or_no_end_here() -> None:
    story = night("kv-preemption-thrash", "kv-preemption-thrash").story
    assert story.onset is None
    assert story.ended is None
    assert not story.before
    assert not story.after


def test_a_quiet_night_has_no_main_and_no_advice() -> None:
    story = night("healthy-busy", "healthy-idle").story
    assert story.main is None
    assert story.next == ()
    assert story.before


def test_traffic_that_grew_is_named() -> None:
    story = night("healthy-idle", "healthy-busy", "kv-preemption-thrash").story
    before, during = story.before["requestsPerSecond"], story.during["requestsPerSecond"]
    assert bool([one for one in story.changed if one.startswith("requests per second")]) == (
        0 < 1.3 * before <= during
    )


def test_an_episode_is_judged_as_a_whole_where_its_time_can_be() -> None:
    steps = night(*NIGHT).steps
    worst = story_of(steps).main
    assert worst is not None
    assert worst.judged[1] - worst.judged[0] == STEP_S < worst.end - worst.start
    asked = []

    def judge(start: float, end: float) -> Step:
        asked.append((start, end))
        return replace(next(one for one in steps if one.start == start), start=start, end=end)

    whole = story_of(steps, judge)
    assert [one.judged for one in whole.episodes] == asked
    assert [(one.start, one.end) for one in whole.episodes] == asked


def test_a_whole_of_another_cause_does_not_stand_for_its_steps() -> None:
    steps = night("kv-preemption-thrash", "kv-preemption-thrash").steps
    quiet = night("healthy-idle").steps[0]
    story = story_of(steps, lambda start, end: replace(quiet, start=start, end=end))
    assert story.main is not None
    assert story.main.judged == (steps[0].start, steps[0].end)
    assert "preemptions" in story.main.summary


def test_no_step_is_no_story() -> None:
    assert story_of(()).episodes == ()


@pytest.mark.parametrize("name", ["kv-preemption-thrash", "slot-bound", "healthy-busy"])
def test_one_step_is_one_episode_of_its_cause(name: str) -> None:
    story = night(name).story
    assert [one.cause for one in story.episodes] == [name]
    assert (story.main is not None) == (name != "healthy-busy")
