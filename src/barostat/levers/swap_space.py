"""More swap space for a V0 engine that aborted without it; on every other engine swapping is
no lever.

Meaning: --swap-space gave the V0 engine host memory into which it swapped sequences.
When: a V0 engine's log says "Aborted due to the lack of CPU swap space": requests of several
sequences had nowhere to go.
Not when: V1 accepts and ignores it up to 0.17.1, and the engine does not start with it from 0.18.0
on.
Undo: restore the former value, or remove the argument.
Proof: the engine keeps running under the same load, and the log has no such line.
Source: vLLM 0.6 Scheduler._swap_out, CacheConfig.swap_space (4 GiB per card, refused above 0.7 of
the host's memory); 0.11.0 (V0 is gone); 0.16.0 EngineCore (num_cpu_blocks = 0); 0.18.0 EngineArgs
(the argument is gone).
"""

from __future__ import annotations

from barostat.catalog.vllm_behaviours import behaves
from barostat.core.diagnosis import KV_CAUSES
from barostat.core.lever import Lever, NotApplicable, Proposal, Situation
from barostat.core.proposed_change import SetFlag
from barostat.core.prose import Prose
from barostat.core.window import Window
from barostat.levers._readings import GIB, last_of

NAME = "swap-space"
DEFAULT_GIB = 4.0
MOST_OF_HOST_RATIO = 0.7


def _ran_out(window: Window) -> bool:
    """True if the log shows a V0 engine that had nowhere to swap to, on a version that may be
    one.
    """
    line = window.fresh("log_swap_exhausted")
    return line is not None and line.last > 0 and behaves("v0-possible", window.version) is True


def _more(window: Window) -> Proposal | NotApplicable:
    now = window.config.number("swap_space") or DEFAULT_GIB
    cards, limit = (
        window.config.number("tensor_parallel_size") or 1.0,
        last_of(window, "host_memory_limit_bytes"),
    )
    target = 2 * now
    if limit is not None and cards * target * GIB > MOST_OF_HOST_RATIO * limit:
        return NotApplicable(
            NAME,
            Prose(
                f"{cards * target:g} GiB are more than vLLM takes of the container's "
                f"{limit / GIB:.0f} GiB: fewer sequences instead"
            ),
        )
    why = (
        f"the log says that requests of several sequences had no swap space left of {now:g} "
        "GiB per card; it is taken of the host's memory"
    )
    return Proposal(NAME, SetFlag("swap_space", target), Prose(why), True, 36)


def propose(situation: Situation) -> Proposal | NotApplicable:
    """Twice as much where a V0 engine aborted for want of it; elsewhere the reason why not, for
    this version.
    """
    version = situation.window.version
    if _ran_out(situation.window):
        return _more(situation.window)
    if behaves("swap-space-refused", version):
        why = f"--swap-space does not exist since vLLM 0.18.0: {version} would refuse to start"
    elif behaves("swap-space-ignored", version):
        why = (
            f"the V1 engine ({version}) accepts --swap-space and never swaps: preempted "
            "requests are recomputed"
        )
    elif version is not None:
        why = (
            f"the V0 engine ({version}) swaps only for beams and best-of; it recomputes "
            "ordinary requests whatever the swap space is"
        )
    else:
        why = (
            "the V1 engine never swaps, and from vLLM 0.18.0 on the argument keeps the engine "
            "from starting"
        )
    return NotApplicable(NAME, Prose(why), classic=True)


LEVER = Lever(NAME, Prose("swap to host memory"), "supply", KV_CAUSES, propose)
