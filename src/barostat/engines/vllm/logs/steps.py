"""Every step of an engine that was started with `--enable-logging-iteration-details`, from its
log.
"""

from __future__ import annotations

from collections.abc import Iterable

from barostat.engines.vllm.logs.clock import LogClock
from barostat.engines.vllm.logs.lines import LoggedStep
from barostat.engines.vllm.logs.stats import logged_step
from barostat.engines.vllm.logs.text import LONGEST, unwrap


def logged_steps(lines: Iterable[str]) -> dict[str, list[LoggedStep]]:
    """The steps that computed something, in the order of the log, by data-parallel engine ("" where
    lines name none).
    """
    clock = LogClock()
    found: dict[str, list[LoggedStep]] = {}
    for raw in lines:
        if "Iteration(" not in raw or len(raw) > LONGEST:
            continue
        for line in unwrap(raw):
            at = clock.read(line.stamp) or 0.0
            step = logged_step(line.text, at, line.engine)
            if step is not None and step.context_tokens + step.generation_tokens > 0:
                found.setdefault(step.engine, []).append(step)
    return found
