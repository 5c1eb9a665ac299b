"""What one request may ask for, before any state is looked at: too long, too many, or with no
stated end where one is demanded.
"""

from __future__ import annotations

from barostat.admit.asked import AskedRequest
from barostat.admit.decision import CountFirst, Refused
from barostat.admit.rules import Rules

_NEAR = 0.85
"""Of a limit: an estimate below it is below the limit."""


def refused_at_sight(
    request: AskedRequest, rules: Rules, longest_tokens: int | None
) -> Refused | CountFirst | None:
    """Why the request will never pass, or None. `longest_tokens`: what the engine takes in one
    sequence.

    An input is refused for its length only where it is known exactly; a bound or an estimate near
    or above a limit is to be counted first.
    """
    if request.sequences > rules.max_sequences and request.decodes:
        return Refused(
            400,
            "too-many-sequences",
            f"{request.sequences} sequences are asked for at once; at most "
            f"{rules.max_sequences} are",
        )
    if request.output_limit is None:
        if rules.refuse_no_output:
            return Refused(
                400, "no-output-limit", "a request that states no output limit is not served here"
            )
    elif (
        rules.refuse_above_output
        and rules.max_output_tokens is not None
        and request.output_limit > rules.max_output_tokens
    ):
        return Refused(
            400,
            "output-too-long",
            f"{request.output_limit} tokens of output are asked for; at most "
            f"{rules.max_output_tokens} are served",
        )
    each = request.tokens_of_each
    room = room_for_the_cap(rules, longest_tokens) if request.output_limit is None else None
    if (
        room is not None
        and request.counted_as != "exact"
        and each > (room if request.counted_as == "bound" else room * _NEAR)
    ):
        return CountFirst(
            room
            # an engine refuses a request for which there is less room than the cap that would be
            # written
        )
    limit = rules.max_input_tokens
    if longest_tokens is not None:
        room = longest_tokens - max(int(request.decodes), request.least_output_tokens)
        limit = room if limit is None else min(limit, room)
    if limit is None:
        return None
    if request.counted_as == "exact":
        if each > limit:
            return Refused(
                413,
                "input-too-long",
                f"the input is {each} tokens long; at most {limit} are served",
            )
    elif each > (limit if request.counted_as == "bound" else limit * _NEAR):
        return CountFirst(limit)
    return None


def room_for_the_cap(rules: Rules, longest_tokens: int | None) -> int | None:
    """Tokens of the longest input behind which there is room for the cap that a request without an
    output limit gets; None if none is written: no answer comes to it.

    Source: vLLM 0.6 to 0.31 refuse a max_tokens for which there is no room behind the input, every
    version one above its context.
    """
    if (
        longest_tokens is None
        or rules.max_output_tokens is None
        or rules.max_output_tokens >= longest_tokens
    ):
        return None
    return longest_tokens - rules.max_output_tokens


def output_in_force(
    request: AskedRequest, rules: Rules, longest_tokens: int | None
) -> tuple[int | None, bool, int]:
    """(The cap of one sequence that is in force, whether the gateway has to write it, and what one
    sequence can come to produce).

    Where an input leaves less room than the cap, nothing is written: the engine ends the answer
    before it, and would refuse the number.
    """
    stated, most = request.output_limit, rules.max_output_tokens
    cap, capped = stated, False
    if most is not None and (stated is None or stated > most):
        cap, capped = most, True
        if stated is None and longest_tokens is not None:
            fits = room_for_the_cap(rules, longest_tokens)
            capped = fits is not None and (
                request.counted_as != "exact" or request.tokens_of_each <= fits
            )
    room = (
        None
        if longest_tokens is None
        else max(1, longest_tokens - -(-request.input_tokens // request.prompts))
    )
    if cap is None:
        return None, False, room if room is not None else 1 << 20
    return cap, capped, cap if room is None else min(cap, room)
