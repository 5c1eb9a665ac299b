"""The V0 engine had nowhere to swap a preempted group to, and aborted.

Meaning: requests with several sequences (n, best_of, beams) are not recomputed in V0 when the pool
is full, they are swapped to host memory. When that is full as well, the scheduler raises and the
engine ends.

Impact: every request in flight fails, and the process ends. Under the same load it ends again.

Evidence: "Aborted due to the lack of CPU swap space" in the log.

Not evidence: --swap-space on the command line of a V1 engine (0.8 on by default): it never swaps.
"Too large swap space" at start: that is a refused setting.

Mitigation: fewer sequences at once (max_num_seqs, n and best_of capped at the edge), a larger pool;
on this engine, and only on this one, more --swap-space as well. A newer vLLM recomputes instead.

Source: vLLM 0.2 to 0.10, Scheduler._swap_out (V0).
"""

from __future__ import annotations

from barostat.core.symptom import Symptom
from barostat.core.verdict import Verdict
from barostat.core.window import Window
from barostat.symptoms._lines import counted

LINES = ("log_swap_exhausted",)


def judge(window: Window) -> Verdict:
    """Present if the engine aborted for lack of swap space."""
    return counted(
        window,
        LINES,
        seen="the engine aborted for lack of swap space",
        none="nothing was aborted for lack of swap space",
    )


SYMPTOM = Symptom(
    name="swap-space-exhausted",
    title="aborted for want of swap space (V0)",
    judge=judge,
    needs_any=LINES,
)
