"""The host's memory ran out: the container's cgroup limit, or the node.

Meaning: the kernel (or ray's monitor, or the kubelet's eviction) killed a process for *host*
memory. Exit code 137 and OOMKilled say nothing about the GPU.

Impact: the pod restarts with a cold cache; with the same limit it happens again.

Evidence: OOMKilled in the pod's last state, an OOM-killer line of the kernel, ray's memory monitor,
an eviction for memory.

Not evidence: exit 137 by itself (a failed probe or a delete sends the same signal); `CUDA out of
memory`; the end of another process on the node.

Mitigation: a memory limit that fits what loading and offloading need; less KV or weight offloading;
more /dev/shm only if that is what fills. No GPU flag helps.

Source: Kubernetes 1.34 container status; vLLM issues 53042, 10981, 16916.
"""

from __future__ import annotations

from barostat.judge.diagnosis.case import Case, Cause, Claim, Cleared, Judgement, Open
from barostat.symptoms._kernel_kills import node_ran_short, other_victims

PRESSED = ("low on resource", "MemoryPressure")
"""The kubelet's words for a node that runs short."""


def judge(case: Case) -> Judgement:
    """Claim where something was killed for host memory."""
    if case.present("oom-killed"):
        kill = case.window.fresh("kernel_oom_kill")
        short = (
            kill is not None
            and kill.last > 0
            and node_ran_short(kill.detail)
            and not other_victims(kill.detail)
        )
        told = case.window.fresh("log_host_oom")
        pressed = (
            told is not None and told.last > 0 and any(word in told.detail for word in PRESSED)
        )
        evicted = short or pressed or bool(case.present("evicted"))
        return Claim(
            confidence=case.confidence("oom-killed") * 0.97,
            severity="critical",
            summary=f"Killed for host memory, not GPU memory: {case.because('oom-killed')}.",
            rests_on=("oom-killed", *case.present("evicted", "restarts")),
            variant="node-eviction" if evicted else "cgroup",
        )
    if case.present("evicted"):
        return Claim(
            confidence=case.confidence("evicted") * 0.9,
            severity="critical",
            summary=f"The node evicted the pod: {case.because('evicted')}.",
            rests_on=("evicted", *case.present("restarts")),
            variant="node-eviction",
        )
    if case.absent("oom-killed"):
        return Cleared(case.because("oom-killed"))
    return Open("neither pod status nor a log was given", case.missing("oom-killed"))


CAUSE = Cause("host-oom", "Killed for host memory (cgroup or node)", 5, judge)
