"""The story of a range: when harm began and ended, what it was, what changed before it, and the
figures before, during and after.

ok ok ok | kv-preemption-thrash x 5 | kv-admission-queueing x 2 | ok ok
         ^ onset: between this step's start and end             ^ end
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, groupby, pairwise

from barostat.core.diagnosis import CauseName, NextStep, Severity, Trials, Trigger
from barostat.judge.diagnosis.fleet import badness
from barostat.judge.history.steps import ReplicaSeen, Step, mean_figures

CHANGED_RATIO = 1.3
"""A figure of the traffic that is so much larger than before may be what set it off."""
_TRAFFIC = (
    ("requestsPerSecond", "requests per second"),
    ("promptTokensMean", "prompt tokens"),
    ("outputTokensMean", "output tokens"),
)


@dataclass(frozen=True, slots=True)
class Episode:
    """Steps without a gap that have one fleet diagnosis. `replicas`: how many had it at its widest,
    of `of` that were there. `judged`: the time that `summary` counts: all of it, or its worst step.
    """

    start: float
    end: float
    cause: CauseName
    severity: Severity
    summary: str
    confidence: float
    replicas: int
    of: int
    judged: tuple[float, float]

    @property
    def harmful(self) -> bool:
        """True if the severity is warning or critical."""
        return self.severity in ("warning", "critical")


@dataclass(frozen=True, slots=True)
class Story:
    """The findings for a time range. `onset` and `end`: the periods in which harm began and ended;
    None if it did not, or not in the range.

    `trigger`: from the first harmful diagnosis; `changed`: how the traffic differed from before, a
    sentence each.
    """

    episodes: tuple[Episode, ...]
    main: Episode | None = None
    onset: tuple[float, float] | None = None
    ended: tuple[float, float] | None = None
    trigger: Trigger | None = None
    changed: tuple[str, ...] = ()
    before: Mapping[str, float] = field(default_factory=dict)
    during: Mapping[str, float] = field(default_factory=dict)
    after: Mapping[str, float] = field(default_factory=dict)
    next: tuple[NextStep, ...] = ()
    trials: Trials | None = None
    untold_s: float = 0.0
    """Total time within the range without a verdict."""


def story_of(steps: Sequence[Step], judge: Callable[[float, float], Step] | None = None) -> Story:
    """The story that the steps tell; they ascend in time. `judge`: examines the time between two
    instants as a whole, so that an episode's figures are those of all of it.
    """
    stretches = accumulate(
        (int(later.start > earlier.end + 1) for earlier, later in pairwise(steps)), initial=0
    )
    told = zip(stretches, steps, strict=False)
    judged = [
        _judged([step for _, step in group], judge)
        for _, group in groupby(
            told, key=lambda one: (one[0], one[1].fleet.cause, one[1].fleet.variant, one[1].harmful)
        )
    ]
    episodes = tuple(_episode(group, worst) for group, worst in judged)
    untold_s = sum(
        one.end - one.start for one in episodes if one.cause == "unknown" and not one.harmful
    )
    harmful = [place for place, step in enumerate(steps) if step.harmful]
    if not harmful:
        return Story(episodes, before=mean_figures(steps), untold_s=untold_s)
    first, last = harmful[0], harmful[-1]
    before, during, after = steps[:first], [steps[place] for place in harmful], steps[last + 1 :]
    worst = max(during, key=lambda step: badness(step.fleet))
    main = max(
        (one for one in episodes if one.harmful),
        key=lambda one: (one.severity == worst.fleet.severity, one.end - one.start),
    )
    group, whole = judged[episodes.index(main)]
    if worst in group:
        worst = whole
    seen = _seen_worst(worst)
    only = [one for one in episodes if one.harmful] == [main] and main.judged == (
        main.start,
        main.end,
    )
    figures_before = mean_figures(before)
    figures_during = whole.figures if only else mean_figures(during)
    return Story(
        episodes,
        main,
        (steps[first - 1].end, steps[first].end) if first else None,
        (steps[last].end, steps[last + 1].end) if after else None,
        next((trigger for step in during if (trigger := _trigger(step)) is not None), None),
        _changed(figures_before, figures_during),
        figures_before,
        figures_during,
        mean_figures(after),
        seen.next if seen is not None else (),
        seen.trials if seen is not None else None,
        untold_s,
    )


def _judged(
    steps: Sequence[Step], judge: Callable[[float, float], Step] | None
) -> tuple[Sequence[Step], Step]:
    """The steps, and what stands for them: their time judged as a whole if that names the same
    cause, else the worst of them.
    """
    if judge is not None:
        whole = judge(steps[0].start, steps[-1].end)
        if (whole.fleet.cause, whole.harmful) == (steps[0].fleet.cause, steps[0].harmful):
            return steps, whole
    return steps, max(steps, key=lambda step: badness(step.fleet))


def _episode(steps: Sequence[Step], worst: Step) -> Episode:
    """The episode of these steps. `worst`: the time that stands for them."""
    counts = [
        Counter(one.diagnosis.cause for one in step.replicas)[step.fleet.cause] for step in steps
    ]
    seen = _seen_worst(worst)
    return Episode(
        steps[0].start,
        steps[-1].end,
        worst.fleet.cause,
        worst.fleet.severity,
        seen.diagnosis.summary if seen is not None else worst.fleet.summary,
        worst.fleet.confidence,
        max(counts, default=0),
        max((len(step.replicas) for step in steps), default=0),
        (worst.start, worst.end),
    )


def _seen_worst(step: Step) -> ReplicaSeen | None:
    """The replica whose diagnosis is the fleet's."""
    return max(
        (one for one in step.replicas if one.diagnosis.cause == step.fleet.cause),
        key=lambda one: badness(one.diagnosis),
        default=None,
    )


def _trigger(step: Step) -> Trigger | None:
    return next(
        (
            one.diagnosis.trigger
            for one in step.replicas
            if one.diagnosis.trigger is not None and step.harmful
        ),
        None,
    )


def _changed(before: Mapping[str, float], during: Mapping[str, float]) -> tuple[str, ...]:
    """What of the traffic grew: the likeliest reason if there was no deployment."""
    found = []
    for name, words in _TRAFFIC:
        was, came = before.get(name, 0.0), during.get(name, 0.0)
        if was > 0 and came >= CHANGED_RATIO * was:
            found.append(f"{words}: {came:,.3g} on average while it lasted, {was:,.3g} before")
    return tuple(found)
