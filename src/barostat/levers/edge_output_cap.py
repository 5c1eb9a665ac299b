"""No request generates more tokens than nearly all need.

Meaning: the gateway forwards min(what the client asks, the cap) as max_tokens, also where the
client asks nothing.
When: decode growth fills the pool, or long answers hold the slots. Live: nothing restarts.
Not when: clients already ask for no more than the cap.
Undo: take the limit out of the limits file.
Proof: the 95th percentile of max_tokens falls to the cap; preemptions stop, since only decode
growth preempts.
Source: vLLM 0.33.0 Scheduler: max_tokens reserves nothing, it bounds growth; without it a chat
request may fill the whole context.
"""

from __future__ import annotations

from barostat.core.diagnosis import KV_CAUSES
from barostat.core.lever import Lever, NotApplicable, Proposal, SetsEdgeLimit, Situation
from barostat.core.proposed_change import SetEdgeLimit
from barostat.core.prose import Prose
from barostat.levers._readings import count, last_of, round_up_tokens

NAME = "edge-output-cap"


def propose(situation: Situation) -> Proposal | NotApplicable:
    """A cap at the 95th percentile of what is really generated, unless clients ask for less
    anyway.
    """
    window = situation.window
    high, asked = last_of(window, "output_tokens_p95"), last_of(window, "max_tokens_p95")
    if high is None or high <= 0:
        return NotApplicable(NAME, Prose("the lengths of the outputs were not measured"))
    cap = round_up_tokens(high)
    if asked is not None and asked <= cap:
        return NotApplicable(
            NAME,
            Prose(
                f"clients ask for at most {count(asked)} tokens already (95th percentile), "
                f"which a cap of {count(cap)} would not change"
            ),
        )
    wish = f" and clients ask for up to {count(asked)}" if asked is not None else ""
    return Proposal(
        NAME,
        SetEdgeLimit("request.maxOutputTokens", cap),
        Prose(f"95 % of the answers have at most {count(high)} tokens{wish}"),
        False,
        11,
    )


LEVER = Lever(
    NAME,
    Prose("cap the output tokens at the edge"),
    "edge",
    (*KV_CAUSES, "slot-bound", "compute-bound"),
    propose,
    sets=SetsEdgeLimit("request.maxOutputTokens"),
)
