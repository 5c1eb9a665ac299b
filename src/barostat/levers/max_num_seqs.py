"""The engine has fewer slots.

Meaning: --max-num-seqs caps the running list, and sizes the runner, the captured graphs and the
sampler's warm-up.
When: preemption thrash on a version without --max-num-active-seqs, and then below what really runs;
out of memory while graphs are captured or the sampler warms up; more slots than a hybrid model has
states for.
Not when: above what really runs it changes nothing (measured: 256, 192, 128 and 64 are identical
where 60 run). A queue without preemptions only gets longer.
Undo: restore the former value; drain first, the restart drops the prefix cache.
Proof: running stays at the limit, preemptions stop; or the engine starts.
Source: vLLM 0.32.0 Scheduler.schedule; GPUModelRunner._dummy_sampler_run.
"""

from __future__ import annotations

from barostat.catalog.settings.table import has_flag
from barostat.core.diagnosis import KV_CAUSES
from barostat.core.lever import Lever, NotApplicable, Proposal, Situation
from barostat.core.proposed_change import SetFlag
from barostat.core.prose import Prose
from barostat.levers._readings import count, detail_of, how_sure, number_in, running_target

NAME = "max-num-seqs"


def propose(situation: Situation) -> Proposal | NotApplicable:
    """A number of slots below what runs, or what the start-up failure leaves room for."""
    match situation.cause:
        case "kv-preemption-thrash":
            return _against_thrash(situation)
        case "kv-admission-queueing":
            return NotApplicable(
                NAME,
                Prose(
                    "the pool is full but hardly preempts: fewer slots would only lengthen the queue"
                ),
                classic=True,
            )
        case "kv-pool-too-small":
            return _for_states(situation)
        case _:
            return _for_capture(situation)


def _against_thrash(situation: Situation) -> Proposal | NotApplicable:
    target = running_target(situation.window)
    if target is None:
        return NotApplicable(
            NAME,
            Prose(
                "how many requests run at once was not measured, or it is one; a limit above "
                "that changes nothing"
            ),
            classic=True,
        )
    if has_flag("max_num_active_seqs", situation.window.version):
        return NotApplicable(
            NAME,
            Prose(
                f"--max-num-active-seqs {target[0]} does the same on this version and keeps "
                "the graph sizes"
            ),
            classic=True,
        )
    return Proposal(
        NAME,
        SetFlag("max_num_seqs", target[0]),
        Prose(f"{target[1]}; a value above what runs would change nothing"),
        True,
        33,
    )


def _for_states(situation: Situation) -> Proposal | NotApplicable:
    states = number_in(
        r"exceeds.{0,60}\((\d+)\)", detail_of(situation.window, "log_states_exceeded")
    )
    if states is None or states < 1:
        return NotApplicable(
            NAME,
            Prose(
                "the number of state blocks is not in the log"
                if situation.variant == "states"
                else "slots are not what the pool lacks"
            ),
        )
    return Proposal(
        NAME,
        SetFlag("max_num_seqs", int(states)),
        Prose(f"the pool has {count(states)} state blocks and every running request needs one"),
        True,
        20,
    )


def _for_capture(situation: Situation) -> Proposal | NotApplicable:
    if situation.variant not in ("graph-capture", "sampler"):
        return NotApplicable(
            NAME,
            Prose("the memory ran out elsewhere than in graph capture or the sampler's warm-up"),
        )
    rows = number_in(
        r"with (\d+) dummy requests", detail_of(situation.window, "log_gpu_oom_graph_capture")
    )
    known = rows or situation.window.config.number("max_num_seqs")
    if known is None or known < 2:
        return NotApplicable(NAME, Prose("the current number of slots is not known"))
    target = 256 if known > 512 else max(1, int(known) // 2)
    found = situation.window.config.get("max_num_seqs")
    sure = how_sure(found) if rows is None and found is not None else ""
    return Proposal(
        NAME,
        SetFlag("max_num_seqs", target),
        Prose(
            f"the sampler's warm-up runs over {count(known)} rows of logits{sure}"
            if situation.variant == "sampler"
            else f"graphs and sampler are sized for {count(known)} requests{sure}"
        ),
        True,
        21,
    )


LEVER = Lever(
    NAME, Prose("fewer slots"), "demand", (*KV_CAUSES, "gpu-oom", "kv-pool-too-small"), propose
)
