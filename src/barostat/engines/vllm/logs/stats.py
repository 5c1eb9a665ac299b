"""Parses the statistics line and the per-step line of every vLLM version."""

from __future__ import annotations

import re

from barostat.engines.vllm.logs.lines import LoggedStep, StatsLine

# Each part after the throughputs is optional and in the order of the newest version: one pattern
# reads 0.1 (`Throughput:`) to 0.33.
_STATS = re.compile(
    r"(?:Engine (?P<engine>\d{1,15}): |(?P<engines>\d{1,15}) Engines Aggregated: )?"
    r"(?:(?:Avg prompt throughput: (?P<prompt>[\d.]+) tokens/s, )?"
    r"(?:Avg generation throughput|Throughput): (?P<generation>[\d.]+) tokens/s, "
    r"(?:[A-Z][\w /]{0,30}: ?[\d.]+ ?ms, ){0,3})?"
    r"Running: (?P<running>\d{1,15}) reqs?(?:, Swapped: (?P<swapped>\d{1,15}) reqs?)?, (?:Waiting|Pending): (?P<waiting>\d{1,15}) reqs?"
    r"(?:, Deferred: (?P<deferred>\d{1,15}) reqs?)?"
    r"(?:, KV fetch: \d+ waiting to start, \d+ in progress, \d+ completed waiting)?"
    r"(?:, Preemptions: (?P<preemptions>\d{1,15}))?"
    r"(?:, [A-Za-z]+(?: \+ host)? KV cache usage: (?P<usage>[\d.]+)%)?"
    r"(?:, CPU KV cache usage: [\d.]+%)?"
    r"(?:, Prefix cache hit rate: (?:GPU: )?(?P<hit>[\d.]+)%)?"
)
_ITERATION = re.compile(
    r"(?:Engine (?P<engine>\d{1,15}): )?Iteration\((?P<step>\d{1,15})\): (?P<requests>\d{1,15}) context requests, "
    r"(?P<context>\d{1,15}) context tokens, "
    r"(?P<decodes>\d{1,15}) generation requests, (?P<generation>\d{1,15}) generation tokens, iteration elapsed time: (?P<ms>[\d.]+) ms"
    r"(?: \(dummy\))?(?:, [A-Za-z]+(?: \+ host)? KV cache usage: (?P<usage>[\d.]+)%)?"
)

OF_STATS = ("hroughput: ", "Running: ", "Iteration(")
"""Every line with statistics or a step contains one of these."""


def stats_line(text: str, at: float, engine: str) -> StatsLine | None:
    """Parse the statistics line in the text; None if there is none. `engine` is used if the line
    names none.

    A line quoted from `Running:` onwards is accepted if it contains the pool's usage; its
    throughput is None.

    Source: vLLM 0.1 scheduler.Scheduler, 0.3-0.10 engine/metrics.LoggingStatLogger, 0.8-0.33
    v1/metrics/loggers.LoggingStatLogger and (0.11.1 on, with --aggregate-engine-logging)
    AggregatedLoggingStatLogger.
    """
    found = _STATS.search(text)
    if not found or (found["generation"] is None and found["usage"] is None):
        return None
    (
        index,
        engines,
        prompt,
        generation,
        running,
        swapped,
        waiting,
        deferred,
        preemptions,
        usage,
        hit,
    ) = found.groups()
    try:
        return StatsLine(
            at,
            str(int(index)) if index else engine,
            float(prompt) if prompt else None if generation is None else 0.0,
            None if generation is None else float(generation),
            int(running),
            int(waiting),
            float(usage) / 100.0 if usage else None,
            int(deferred) if deferred else None,
            int(swapped) if swapped else None,
            int(preemptions) if preemptions else None,
            float(hit) / 100.0 if hit else None,
            max(1, int(engines or 1)),
        )
    except ValueError:  # "1.2.3 tokens/s": two writers in one line
        return None


def logged_step(text: str, at: float, engine: str) -> LoggedStep | None:
    """Parse a per-step line; None for any other line. A dummy step, which only keeps data-parallel
    engines in lock step, has no tokens.

    `engine` is used if the line names none.

    Source: vLLM 0.28 to 0.33 v1/metrics/loggers.LoggingStatLogger,
    v1/utils.compute_iteration_details.
    """
    found = _ITERATION.search(text)
    if not found:
        return None
    usage = found["usage"]
    try:
        return LoggedStep(
            at,
            int(found["requests"]),
            int(found["context"]),
            int(found["decodes"]),
            int(found["generation"]),
            float(found["ms"]) / 1000.0,
            None if usage is None else float(usage) / 100.0,
            str(int(found["engine"])) if found["engine"] else engine,
            int(found["step"]),
        )
    except ValueError:
        return None
