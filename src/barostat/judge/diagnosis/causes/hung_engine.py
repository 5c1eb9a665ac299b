"""The engine answers /health and produces nothing.

Meaning: the API server lives, the core or a rank does not: a process that is stopped or stuck, or a
collective that never returns.

Impact: requests hang until their clients give up; probes on /health see nothing wrong.

Evidence: requests are running and not one token was counted for a long time, and something else
than their count shows that they are there (a request of one token, /health, the gateway, the log, a
card at work); requests wait for a minute before an engine that runs none and makes no step; the
core process is stopped; a request of one token is not answered; a collective or an RPC to a worker
timed out.

Not evidence: no tokens with no requests (idle); a count of running requests that stands still, by
itself, for less than a minute or at one: it is of the last step, also where all clients gave up
after it, who are counted nowhere; a long prefill (steps still move); a paused or sleeping engine.
While tokens flow: a one-token request that waits behind the queue, or a time-out of the life
before. Requests that wait for an adapter, a grammar or a transfer, or behind a saturated host.

Mitigation: take the replica out of rotation and restart it, controlled; keep the log and the
processes' stacks. For collectives look at NCCL_DEBUG, peer-to-peer, /dev/shm and the fabric. A
probe on token progress would have found it.

Source: vLLM 0.32.0: /health asks whether the core is alive, not whether it moves; kserve issue
6259; vLLM issues 39734, 45388 and 45414 (a scheduler that admits nobody), 22545 and 29928 (counts
that stay when all requests are aborted).
"""

from __future__ import annotations

from barostat.judge.diagnosis.case import Case, Cause, Claim, Cleared, Judgement, Open
from barostat.symptoms._holding import holding, together
from barostat.symptoms._queue import queue
from barostat.symptoms.tokens_stalled import SURE_S

STUCK = ("core-stopped", "tokens-stalled", "probe-unanswered")
ENDED = ("engine-died", "endpoint-silent")
FLOWS = ("generation_tokens_per_s", "prompt_tokens_per_s")
TIMED_OUT = ("log_collective_timeout", "log_rpc_timeout")


OTHER_REASONS = (
    "deferred-waiting",
    "tokenizer-bound",
    "api-server-saturated",
    "cpu-throttled",
    "host-cpu-saturated",
)
"""Symptoms that explain a queue before an engine that runs nothing."""
WORK_IS_THERE = ("collective-hang", "endpoint-silent", "health-failing", "timeouts-and-5xx")
"""Symptoms that confirm waiting requests independently of the engine's own count."""
AT_WORK_RATIO = 0.9
"""A collective that waits spins: the card is busy while no step ends."""
SUSPICION = 0.4
"""Below what names a cause."""
STANDS_S = 60.0
"""A scheduler takes thousands of steps in a minute: a queue that stands this long is admitted no
more. And where clients come and go, one of them makes a step within it, after which a count is of
now.
"""


def _queue_stands(case: Case) -> bool:
    """True if requests have waited for a minute before an engine that ran none, and nothing else
    explains it.
    """
    running, waiting = case.window.fresh("running_requests"), queue(case.window)
    if (
        running is None
        or waiting is None
        or not case.present("queue-without-work")
        or case.present(*OTHER_REASONS, *ENDED)
    ):
        return False
    for_s = holding(together(running, waiting), lambda runs, waits: runs <= 0 and waits > 0).for_s
    return for_s is not None and for_s >= STANDS_S


def _work_is_there(case: Case) -> bool:
    """True if other evidence than the count of running requests confirms work, or the count was
    constant above one for a minute.

    A constant count of one may be a cancelled request with no later step; several cancellations
    between two steps are rarer than a hang.
    """
    card, stalled = (
        case.window.fresh("gpu_utilization_ratio"),
        case.window.fresh("tokens_stalled_s"),
    )
    spins_s = (
        (card.held_for_s(lambda ratio: ratio >= AT_WORK_RATIO) or 0.0) if card is not None else 0.0
    )
    if case.present(*WORK_IS_THERE):
        return True
    asked = case.window.fresh("probe_token_ok")
    counted = [
        count.last
        for count in (case.window.fresh("running_requests"), queue(case.window))
        if count is not None
    ]
    stands = (
        stalled is not None
        and stalled.last >= STANDS_S
        and sum(counted) > 1
        and (asked is None or asked.last < 1)
    )
    return stands or (stalled is not None and min(spins_s, stalled.last) >= SURE_S)


def _tokens_flow(case: Case) -> bool:
    """True if tokens were counted in the last reading, and that is later than any time-out of this
    life.
    """
    if not case.present("engine-busy") or case.present("core-stopped", "tokens-stalled", *ENDED):
        return False
    lines = [
        line.at
        for name in TIMED_OUT
        if (line := case.window.fresh(name)) is not None and line.last > 0
    ]
    flows = [flow for name in FLOWS if (flow := case.window.fresh(name)) is not None]
    return any(flow.last > 0 and all(flow.at > at for at in lines) for flow in flows)


def judge(case: Case) -> Judgement:
    """Claim where nothing moves although it should."""
    if case.present("engine-asleep"):
        return Cleared(case.because("engine-asleep"))
    if _tokens_flow(case):
        return Cleared(case.because("engine-busy"))
    stuck = case.present(*STUCK)
    if (
        stuck == ("tokens-stalled",)
        and case.present("engine-died")
        and not case.present("collective-hang")
    ):
        return Cleared(case.because("engine-died"))  # no token comes from a core that ended
    if stuck == ("tokens-stalled",) and not _work_is_there(case):
        return Claim(
            confidence=min(SUSPICION, case.confidence(*stuck)),
            severity="warning",
            summary=(
                f"{case.because(*stuck)}; the count stays when all clients give up, and only a "
                "request can tell (--probe)."
            ),
            rests_on=stuck,
            variant="no-tokens",
        )
    if stuck:
        together = min(0.99, case.confidence(*stuck) * (0.9 + 0.04 * len(stuck)))
        collective = bool(case.present("collective-hang"))
        return Claim(
            confidence=together,
            severity="critical",
            summary=f"The engine answers and produces nothing: {case.because(stuck[0])}.",
            rests_on=(*stuck, *case.present("collective-hang", "endpoint-silent")),
            variant="collective" if collective else "no-tokens",
        )
    if _queue_stands(case):
        return Claim(
            confidence=case.confidence("queue-without-work") * 0.9,
            severity="critical",
            summary=f"The engine admits no request: {case.because('queue-without-work')}.",
            rests_on=("queue-without-work", *case.present("collective-hang")),
            variant="collective" if case.present("collective-hang") else "no-tokens",
        )
    if case.present("collective-hang"):
        return Claim(
            confidence=case.confidence("collective-hang") * 0.9,
            severity="critical",
            summary=f"A collective never returned: {case.because('collective-hang')}.",
            rests_on=("collective-hang", *case.present("engine-died")),
            variant="collective",
        )
    if case.present("engine-busy"):
        return Cleared(case.because("engine-busy"))
    if case.absent("tokens-stalled"):
        return Cleared(case.because("tokens-stalled"))
    return Open("token progress was not measured", case.missing("tokens-stalled"))


CAUSE = Cause("hung-engine", "Answers /health, produces no tokens", 7, judge)
