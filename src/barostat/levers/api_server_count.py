"""Use more processes to parse HTTP and tokenize.

Meaning: --api-server-count is the number of API server processes in front of the engine core. Each
is one Python process and uses at most one core.
When: the tokenizer or the API server is the bottleneck, and the container has spare cores.
Not when: the container has no spare core: raise its CPU limit first.
Undo: restore the former value; drain first. With more than one, vLLM prints no statistics line in
the log.
Proof: the busiest API server process falls below one core; tokens per second rise.
Source: vLLM 0.33.0 vllm/entrypoints/cli/serve.py (api_server_count follows data_parallel_size since
0.15.0).
"""

from __future__ import annotations

from barostat.catalog.vllm_behaviours import behaves
from barostat.core.lever import Lever, NotApplicable, Proposal, Situation
from barostat.core.proposed_change import SetFlag
from barostat.core.prose import Prose
from barostat.levers._readings import lacks, last_of

NAME = "api-server-count"
FULL_RATIO = 0.9
"""Share of the container's cores in use above which none is spare."""


def propose(situation: Situation) -> Proposal | NotApplicable:
    """Propose twice the current number, within the container's cores."""
    window = situation.window
    if (refusal := lacks(NAME, situation, "api_server_count")) is not None:
        return refusal
    now = window.config.number("api_server_count")
    if now is None:
        follows = behaves("api-servers-follow-data-parallel", window.version)
        now = (window.config.number("data_parallel_size") or 1.0) if follows else 1.0
    target = max(2, int(2 * now))
    cores, used = last_of(window, "cpu_limit_cores"), last_of(window, "cpu_usage_cores")
    if cores is not None and used is not None and used > FULL_RATIO * cores:
        return NotApplicable(
            NAME,
            Prose(
                f"{used:.1f} of the container's {cores:g} cores are in use, so more processes "
                f"would only share them: raise its CPU limit"
            ),
        )
    if cores is not None and target + 1 > cores:
        target = int(cores) - 1
    if target <= now:
        return NotApplicable(
            NAME,
            Prose(
                f"{now:.0f} API servers and an engine core fill the container's {cores:.0f} cores"
            ),
        )
    busy = last_of(window, "api_server_cpu_cores")
    seen = (
        f"the busiest API server takes {busy:.2f} of one core"
        if busy is not None
        else f"{now:.0f} process{'es' if now > 1 else ''} tokenize now"
    )
    return Proposal(NAME, SetFlag("api_server_count", target), Prose(seen), True, 30)


LEVER = Lever(NAME, Prose("more API server processes"), "host", ("host-bound",), propose)
