"""The next hang of a collective says which rank and which link it is.

Meaning: NCCL_DEBUG=INFO (RCCL reads the same) logs the transport of every pair of ranks;
NCCL_P2P_DISABLE=1 keeps to the path through the host.
When: a collective does not return, or ranks cannot connect. Without peer-to-peer it is slower: a
test, not a cure.
Not when: one card alone serves.
Undo: remove the variables.
Proof: the engine starts, or the log names the pair that does not answer.
Source: NCCL environment variables; vLLM 0.32.0 --disable-custom-all-reduce.
"""

from __future__ import annotations

import re

from barostat.core.lever import Lever, NotApplicable, Proposal, Situation
from barostat.core.proposed_change import Advise, SetEnvironment, SetFlag
from barostat.core.prose import Prose
from barostat.levers._readings import detail_of, lacks

NAME = "collective-debug"
_UNREACHED = re.compile(
    r"onnectFullMesh|gloo/transport/.{0,120}(?:refused|unreachable|No route to host|timed? ?out)"
)
"""Not a connection that the other side closed: a rank that ended says no more than that."""

_WITHOUT_P2P = ("NCCL_P2P_DISABLE", "1")


def propose(situation: Situation) -> Proposal | NotApplicable:
    """Logging first; without peer-to-peer where logging is on already."""
    config = situation.window.config
    if situation.variant != "collective":
        return NotApplicable(NAME, Prose("no collective hangs"))
    line = detail_of(situation.window, "log_collective_timeout")
    if _UNREACHED.search(line) and config.get("GLOO_SOCKET_IFNAME") is None:
        change = (
            "env: GLOO_SOCKET_IFNAME and NCCL_SOCKET_IFNAME, the interface between the nodes; "
            "VLLM_HOST_IP, each node's address on it"
        )
        return Proposal(
            NAME,
            Advise(Prose(change)),
            Prose("the ranks do not reach each other over the network interface that was chosen"),
            True,
            10,
        )
    if "P2PStatus" in line:
        why = (
            "the driver does not say which cards reach each other: that is asked for at every "
            "start, whatever the variables are"
        )
        return Proposal(
            NAME,
            Advise(
                Prose(
                    "the node's driver and NVML in this container (a vGPU, MIG or WSL may not answer)"
                )
            ),
            Prose(why),
            True,
            10,
        )
    if "peer access" in line:
        return _without_peer_access(situation, line)
    debug, no_p2p = config.get("NCCL_DEBUG"), config.get("NCCL_P2P_DISABLE")
    if debug is None:
        return Proposal(
            NAME,
            SetEnvironment((("NCCL_DEBUG", "INFO"), _WITHOUT_P2P)),
            Prose("the ranks do not find each other, and the log does not say why"),
            True,
            30,
        )
    if no_p2p is None:
        return Proposal(
            NAME,
            SetEnvironment((_WITHOUT_P2P,)),
            Prose(f"{debug.source} is on; the path between cards is the next suspect"),
            True,
            30,
        )
    off = config.get("disable_custom_all_reduce")
    if off is None or off.value is not True:
        why = "the path between cards is off already; vLLM's own all-reduce is the next suspect"
        return lacks(NAME, situation, "disable_custom_all_reduce") or Proposal(
            NAME, SetFlag("disable_custom_all_reduce", True), Prose(why), True, 31
        )
    return NotApplicable(
        NAME,
        Prose(
            "logging is on, and peer-to-peer and the custom all-reduce are off already: the "
            "log names the pair"
        ),
    )


def _without_peer_access(situation: Situation, line: str) -> Proposal | NotApplicable:
    """NCCL's own words are answered by NCCL's variable; else it is vLLM's all-reduce, which does
    not read it.
    """
    config, why = situation.window.config, "these cards cannot read each other's memory"
    if "NCCL" in line and config.get("NCCL_P2P_DISABLE") is None:
        return Proposal(NAME, SetEnvironment((_WITHOUT_P2P,)), Prose(why), True, 10)
    off = config.get("disable_custom_all_reduce")
    if off is None or off.value is not True:
        return lacks(NAME, situation, "disable_custom_all_reduce") or Proposal(
            NAME, SetFlag("disable_custom_all_reduce", True), Prose(why), True, 10
        )
    return NotApplicable(
        NAME,
        Prose(
            "the cards cannot read each other's memory, and neither NCCL nor vLLM's all-reduce "
            "asks for it any more"
        ),
    )


LEVER = Lever(NAME, Prose("find the link that hangs"), "advice", ("hung-engine",), propose)
