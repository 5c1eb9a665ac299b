"""Ranks wait for each other and one never comes: a collective, or a call to a worker, timed out.

Meaning: tensor or pipeline parallel ranks exchange data at every step. One of them is stuck or
cannot be reached, so all wait; the watchdog ends them after minutes.

Impact: no token for anybody; GPU utilisation may stand at 100 % because waiting kernels spin.

Evidence: NCCL or RCCL watchdog time-outs, "RPC call ... timed out", "No available shared memory
broadcast block", ranks that cannot connect.

Not evidence: a slow first step: graphs and kernels are still being compiled. High utilisation.

Mitigation: restart the replica; then find the link: peer-to-peer between cards (IOMMU, ACS),
/dev/shm, the network interface that NCCL chose, a rank's own error above. NCCL_DEBUG=INFO;
NCCL_P2P_DISABLE=1 or --disable-custom-all-reduce as a test.

Source: PyTorch ProcessGroupNCCL watchdog; vLLM MultiprocExecutor and shm_broadcast, 0.8 to 0.33.
"""

from __future__ import annotations

from barostat.core.symptom import Symptom
from barostat.core.verdict import Present, Verdict
from barostat.core.window import Window
from barostat.symptoms._lines import counted

LINES = ("log_collective_timeout", "log_rpc_timeout", "previous_log_collective_timeout")
ONLY_RPC_CONFIDENCE = 0.75
"""A worker that does not answer may also be slow: swapping, compiling, or out of host memory."""


def judge(window: Window) -> Verdict:
    """Present if a watchdog or a time-out reported a collective or a worker that did not return."""
    verdict = counted(
        window,
        LINES,
        seen="a collective or a worker did not return in time",
        none="no time-out between ranks",
    )
    if isinstance(verdict, Present) and verdict.evidence[0].signal == "log_rpc_timeout":
        return Present(
            verdict.because, verdict.evidence, min(verdict.confidence, ONLY_RPC_CONFIDENCE)
        )
    return verdict


SYMPTOM = Symptom(
    name="collective-hang", title="a collective does not return", judge=judge, needs_any=LINES
)
