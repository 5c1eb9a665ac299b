"""Do not profile items at start-up that no client sends.

Meaning: at start the peak is measured with the largest item of one kind (a video, where the model
takes videos), and what that took is kept free for good. --limit-mm-per-prompt with 0 for that kind
refuses it with 400 and measures the next largest one.
When: memory runs out while the start is measured with such an item, or no room is left for the pool
after it.
Not when: requests have such items; the log does not say with what the start was measured.
Undo: remove the argument.
Proof: the log names another kind behind "profiled with", and the engine gets past "GPU KV cache
size".
Source: vLLM 0.8.0 to 0.33, "Encoder cache will be initialized with a budget of"; the limits as JSON
since 0.9.0, as image=1,video=0 before.
"""

from __future__ import annotations

from barostat.core.lever import Lever, NotApplicable, Proposal, Situation
from barostat.core.proposed_change import Advise
from barostat.core.prose import Prose
from barostat.levers._readings import lacks

NAME = "limit-mm-per-prompt"
MEASURED_WITH = "profiled_item"
_JSON_SINCE = "0.9.0"
_FIRST, _LAST = 24, 56
"""Order among the levers: last if there is a pool that is only too small."""


def propose(situation: Situation) -> Proposal | NotApplicable:
    """No items of the kind with which the start was measured; of images, smaller ones first. Left
    to a person: it refuses requests.
    """
    window = situation.window
    if (refusal := lacks(NAME, situation, "limit_mm_per_prompt")) is not None:
        return refusal
    measured = window.config.get(MEASURED_WITH)
    if measured is None:
        return NotApplicable(
            NAME,
            Prose(
                "the log does not say that the start was measured with an image, a video or a sound"
            ),
        )
    if situation.cause == "gpu-oom" and (
        situation.variant != "startup"
        or window.config.get("available_kv_cache_memory_gib") is not None
    ):
        return NotApplicable(NAME, Prose("the memory ran out after the start had been measured"))
    kind = str(measured.value)
    as_json = window.version is None or window.version.at_least(_JSON_SINCE)
    none = (
        f"--limit-mm-per-prompt '{{\"{kind}\": 0}}'"
        if as_json
        else f"--limit-mm-per-prompt {kind}=0"
    )
    smaller = (
        ""
        if kind == "video"
        else "; else a smaller one by --mm-processor-kwargs, as the model's processor takes it"
    )
    why = (
        f"the start is measured with the largest {kind} there can be, and what that takes is "
        "kept free for good"
    )
    pool_gib = window.config.number("available_kv_cache_memory_gib")
    nothing_left = situation.cause == "gpu-oom" or (pool_gib is not None and pool_gib <= 0)
    return Proposal(
        NAME,
        Advise(
            Prose(
                f"{none} with the limits that it has now, if no request has "
                f"{'a' if kind == 'video' else 'an'} {kind}{smaller}"
            )
        ),
        Prose(why),
        True,
        _FIRST if nothing_left else _LAST,
    )


LEVER = Lever(
    NAME,
    Prose("items that nobody sends are not measured"),
    "demand",
    ("gpu-oom", "kv-pool-too-small"),
    propose,
)
