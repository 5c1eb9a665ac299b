"""The card belongs to this engine alone.

Meaning: another process holds memory of the card: an engine that did not end, a second server, a
notebook.
When: the card has less free memory at start than the engine asks for, or the pool does not fit, and
another process holds memory.
Not when: the card is shared on purpose: then lower --gpu-memory-utilization to the engine's share.
Undo: start the other process again, elsewhere.
Proof: nvidia-smi shows this engine's processes alone; free memory at start is nearly the total.
Source: vLLM 0.33.0 start-up check "Free memory on device"; nvidia-smi --query-compute-apps.
"""

from __future__ import annotations

from barostat.core.lever import Lever, NotApplicable, Proposal, Situation
from barostat.core.proposed_change import Advise
from barostat.core.prose import Prose
from barostat.core.visible import cut
from barostat.levers._readings import GIB, detail_of, last_of, number_in

NAME = "free-the-card"


def propose(situation: Situation) -> Proposal | NotApplicable:
    """The command that lists who holds the memory."""
    window = situation.window
    foreign = last_of(window, "gpu_foreign_memory_bytes")
    line = detail_of(window, "log_gpu_oom_startup")
    free, total = (
        number_in(r"Free memory on device[^(]*\(([\d.]+)/", line),
        number_in(r"Free memory on device[^(]*\([\d.]+/([\d.]+)", line),
    )
    if foreign is not None and foreign >= GIB:
        who = (
            f": {cut(detail_of(window, 'gpu_foreign_memory_bytes'), 120)}"
            if detail_of(window, "gpu_foreign_memory_bytes")
            else ""
        )
        why = f"processes that are not this engine's hold {foreign / GIB:.1f} GiB of the card{who}"
    elif free is not None and total and free < 0.85 * total:
        why = f"only {free:g} of {total:g} GiB were free when the engine started"
    elif "cumem_allocator" in detail_of(window, "log_gpu_oom_serving"):
        why = (
            "what the engine gave back when it was put to sleep was taken by somebody else "
            "before it woke up"
        )
    elif "Error in memory profiling" in line:
        why = (
            "the card's free memory changed by another process's doing while the engine "
            "measured its own"
        )
    else:
        return NotApplicable(
            NAME, Prose("nothing shows that another process holds memory of the card")
        )
    return Proposal(
        NAME,
        Advise(
            Prose(
                "nvidia-smi --query-compute-apps=pid,name,used_memory --format=csv; then end the "
                "other process"
            )
        ),
        Prose(why),
        True,
        15,
    )


LEVER = Lever(NAME, Prose("free the card"), "host", ("gpu-oom", "kv-pool-too-small"), propose)
