"""The metrics endpoint does not answer (any more).

Meaning: the API server does not listen, does not accept or does not get round to answering. The
engine is gone, not there yet, or its server process is stuck.

Impact: what cannot be scraped cannot be served either, mostly.

Evidence: scrape_ok 0 in the last readings, and whether it answered before.

Not evidence: one scrape that failed: a busy server may take longer than a second. A wrong port or
path.

Mitigation: is the process alive (exit code, restarts)? Is it starting (cold-start)? Is it busy
(api-server-saturated)?

Source: HTTP GET /metrics; vLLM opens its port only after the engine is initialised.
"""

from __future__ import annotations

from barostat.core.symptom import Harm, Symptom
from barostat.core.verdict import Absent, Evidence, Present, Verdict
from barostat.core.window import Window
from barostat.symptoms._lines import quote

WHY_LENGTH = 160


def judge(window: Window) -> Verdict:
    """Present if the last scrapes failed."""
    scrapes, exit_code, log = (
        window["scrape_ok"],
        window.fresh("process_exit_code"),
        window.fresh("log_engine_dead"),
    )
    evidence: tuple[Evidence, ...] = (scrapes.evidence(window.at),)
    if scrapes.last >= 1:
        failed = sum(1 for value in scrapes.values if value < 1)
        return Absent(
            f"it answers now{f' ({failed} scrapes failed before)' if failed else ''}", evidence
        )
    for signal in (exit_code, log):
        if signal is not None:
            evidence += (signal.evidence(window.at),)
    silent_s = scrapes.held_for_s(lambda ok: ok < 1) or 0.0
    count = sum(1 for value in scrapes.values if value < 1)
    before = " after it had answered" if scrapes.high >= 1 else ""
    why = f": {quote(scrapes.detail, WHY_LENGTH)}" if scrapes.detail else ""
    if count < 2:
        return Present(f"/metrics did not answer the last time{before}{why}", evidence, 0.6)
    return Present(f"/metrics has not answered for {silent_s:.0f} s{before}{why}", evidence, 0.95)


SYMPTOM = Symptom(
    name="endpoint-silent",
    title="/metrics does not answer",
    judge=judge,
    needs=("scrape_ok",),
    harm=Harm.DEATH,
)
