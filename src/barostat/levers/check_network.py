"""Check the path between client and engine; leave the engine alone.

Meaning: the time is lost before or behind the engine: connection limits, time-outs, buffering, a
full proxy.
When: network-or-gateway: the gateway's latency or errors are not the engine's.
Not when: the engine's own latency is the larger part.
Undo: none.
Proof: gateway time minus upstream time goes back to milliseconds; 499 and 504 end.
Source: nginx upstream_response_time and request_time; streaming needs proxy buffering off.
"""

from __future__ import annotations

from barostat.core.lever import Lever, NotApplicable, Proposal, Situation
from barostat.core.proposed_change import Advise
from barostat.core.prose import Prose
from barostat.levers._readings import last_of

NAME = "check-network"


def propose(situation: Situation) -> Proposal | NotApplicable:
    """The limit that the codes point to."""
    window = situation.window
    timeouts, errors, share = (
        last_of(window, name)
        for name in ("gateway_timeout_ratio", "gateway_5xx_ratio", "gateway_upstream_share_ratio")
    )
    if timeouts is not None and timeouts > 0.01:
        e2e = last_of(window, "e2e_p99_s")
        seconds = max(300, int(2 * e2e)) if e2e is not None else 600
        return Proposal(
            NAME,
            Advise(Prose(f"proxy_read_timeout {seconds}s; proxy_buffering off;")),
            Prose(f"{timeouts:.0%} of the requests end by a time-out at the gateway"),
            False,
            20,
        )
    if share is not None and share < 0.7:
        return Proposal(
            NAME,
            Advise(
                Prose("keepalive 256; (upstream connections of the gateway), proxy_buffering off;")
            ),
            Prose(f"the engine has {share:.0%} of the latency"),
            False,
            20,
        )
    seen = (
        f"{errors:.0%} of the answers are 5xx"
        if errors is not None and errors > 0
        else "the engine answers in its usual time"
    )
    return Proposal(
        NAME,
        Advise(
            Prose(
                "send one request to the engine directly and one through the gateway, and compare"
            )
        ),
        Prose(f"{seen}; the loss is before it"),
        False,
        20,
    )


LEVER = Lever(
    NAME, Prose("look between client and engine"), "advice", ("network-or-gateway",), propose
)
