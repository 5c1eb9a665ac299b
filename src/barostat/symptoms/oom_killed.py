"""The host ran out of memory and the kernel killed the engine. This is not the GPU.

Meaning: the container went over its memory limit (cgroup) or the node ran short, and a process got
SIGKILL: `OOMKilled`, exit code 137.

Impact: everything in flight is lost, without a word in the engine's own log. It comes back and,
with the same load, dies again.

Evidence: the container's last state says OOMKilled; the kernel's OOM-killer line; exit 137 or
SIGKILL in a log; Ray's memory monitor. Exit 137 with no reason known counts less: a probe that gave
up ends in SIGKILL too.

Not evidence: `CUDA out of memory` (see allocation-failures): it ends with a Python traceback and
exit code 1. GPU memory near 90 %. A process that the kernel killed on the node while the engine
answers and was not restarted, whose name is none of an engine's, or beside an engine that ended by
itself with another exit code.

Mitigation: raise the pod's memory limit, or use less: KV offload size and pinned buffers, loading
format, multimodal caches, /dev/shm (it counts against the limit), grammar caches. Not
gpu_memory_utilization: it does not touch host memory.

Source: Pod lastState.terminated.reason; kernel `Memory cgroup out of memory`; an offload tier
measured at 1.92 times its configured size.
"""

from __future__ import annotations

from barostat.catalog.signals import HISTORY_S
from barostat.core.signal import Signal
from barostat.core.symptom import Symptom
from barostat.core.verdict import Absent, Present, Verdict
from barostat.core.window import Window
from barostat.symptoms._kernel_kills import other_victims
from barostat.symptoms._lines import found, line_summary, looked_at, quote

SURE = ("pod_oom_killed", "log_host_oom", "previous_log_host_oom")
KERNEL = ("kernel_oom_kill",)
CODES = ("pod_last_exit_code", "process_exit_code")
CORE_ENDED = ("log_engine_dead", "previous_log_engine_dead")
"""A server whose core was killed ends by itself, with an exit code of its own."""
KILLED = (137.0, -9.0)
"""128 + SIGKILL as a shell or a container reports it, and -SIGKILL as a parent process does."""


def _another(window: Window, kill: Signal) -> str:
    """Why what the kernel killed is not this engine, or empty if it may be."""
    if others := other_victims(kill.detail):
        return f"and what it killed is no process of an engine: {quote(', '.join(others), 60)}"
    answers, restarts = window.fresh("scrape_ok"), window.fresh("pod_restarts")
    if found(window, CORE_ENDED):
        return ""
    codes, called = looked_at(window, CODES), window.fresh("pod_oom_killed")
    if (
        codes
        and called is not None
        and called.last <= 0
        and all(code.last not in KILLED for code in codes)
    ):
        return f"and this container ended by itself, with exit code {codes[0].last:.0f}"
    if answers is None or answers.last < 1:
        return ""
    if restarts is not None:
        return (
            "and the engine answers and was not restarted: it was another process"
            if restarts.last <= 0
            else ""
        )
    ago_s = window.at - kill.at
    return f"{ago_s / 3600:.0f} hours ago, and the engine answers" if ago_s > HISTORY_S else ""


def judge(window: Window) -> Verdict:
    """Present if the engine was killed for host memory."""
    evidence = tuple(
        signal.evidence(window.at) for signal in looked_at(window, (*SURE, *KERNEL, *CODES))
    )
    sure = found(window, SURE)
    if sure:
        return Present(
            line_summary(sure[0].detail) or "killed for host memory, not GPU memory", evidence, 1.0
        )
    hits = found(window, KERNEL)
    another = _another(window, hits[0]) if hits else ""
    if hits and not another:
        detail = f": {line_summary(hits[0].detail)}" if hits[0].detail else ""
        return Present(f"the kernel's OOM killer was at work on this node{detail}", evidence, 0.75)
    killed = [signal for signal in looked_at(window, CODES) if signal.last in KILLED]
    probes = found(window, ("pod_probe_kills",))
    if killed and probes:
        return Absent(
            "SIGKILL, and a failed probe explains it",
            (*evidence, *(signal.evidence(window.at) for signal in probes)),
        )
    if killed and window.fresh("pod_oom_killed") is not None:
        return Absent("SIGKILL, and Kubernetes does not call it OOMKilled", evidence)
    if killed:
        return Present(
            "killed with SIGKILL (exit 137): mostly host memory, but the reason is not known",
            evidence,
            0.5,
        )
    if another:
        return Absent(f"the kernel's OOM killer was at work on this node, {another}", evidence)
    return Absent("no sign that host memory ran out", evidence)


SYMPTOM = Symptom(
    name="oom-killed",
    title="killed for host memory",
    judge=judge,
    needs_any=(*SURE, *KERNEL, *CODES),
)
