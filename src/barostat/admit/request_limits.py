"""What one request may ask for, before any state is looked at: too long, too many, or with no stated end where one is demanded."""

from __future__ import annotations

from barostat.admit.asked import AskedRequest
from barostat.admit.decision import CountFirst, Refused
from barostat.admit.rules import Rules


def refused_at_sight(request: AskedRequest, rules: Rules, longest_tokens: int | None) -> Refused | CountFirst | None:
    """Why the request will never pass, or None. `longest_tokens`: what the engine takes in one sequence.

    An input is refused for its length only where it is known exactly; a bound or an estimate near or above a limit is to be counted first.
    """
    if request.sequences > rules.max_sequences and request.decodes:
        return Refused(400, "too-many-sequences", f"{request.sequences} sequences are asked for at once; at most {rules.max_sequences} are")
    if request.output_limit is None:
        if rules.refuse_no_output:
            return Refused(400, "no-output-limit", "a request that states no output limit is not served here")
    elif rules.refuse_above_output and rules.max_output_tokens is not None and request.output_limit > rules.max_output_tokens:
        return Refused(
            400, "output-too-long", f"{request.output_limit} tokens of output are asked for; at most {rules.max_output_tokens} are served"
        )
    each = request.tokens_of_each
    limit = rules.max_input_tokens
    if longest_tokens is not None:
        room = longest_tokens - max(int(request.decodes), request.least_output_tokens)
        limit = room if limit is None else min(limit, room)
    if limit is None:
        return None
    if request.counted_as == "exact":
        if each > limit:
            return Refused(413, "input-too-long", f"the input is {each} tokens long; at most {limit} are served")
    elif each > (limit if request.counted_as == "bound" else limit * 0.85):
        return CountFirst(limit)
    return None


def output_in_force(request: AskedRequest, rules: Rules, longest_tokens: int | None) -> tuple[int | None, bool, int]:
    """(The cap of one sequence that is in force, whether the gateway has to write it, and what one sequence can come to produce)."""
    stated, most = request.output_limit, rules.max_output_tokens
    cap, capped = stated, False
    if most is not None and (stated is None or stated > most):
        cap, capped = most, True
    room = None if longest_tokens is None else max(1, longest_tokens - -(-request.input_tokens // request.prompts))
    if cap is None:
        return None, False, room if room is not None else 1 << 20
    return cap, capped, cap if room is None else min(cap, room)
