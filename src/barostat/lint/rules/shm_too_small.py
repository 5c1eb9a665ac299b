"""Too little shared memory for several cards, or for the CPU backend.

Meaning: the workers of one engine talk through /dev/shm, and so do those of data-parallel engines
that share experts. A container has 64 MiB there unless the
pod mounts a memory volume (`emptyDir: {medium: Memory}`), or compose says `ipc: host` or
`shm_size`. The CPU backend has a worker process, and so such a queue, even with one rank since
0.20.0; of an image that does not say its version only who asks for everything is told.
Impact: NCCL fails at start or the engine dies under load ("Bus error", "Insufficient space in
/dev/shm").

Bad:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a, image:
    "vllm/vllm-openai:v0.32.0",
      args: ["--model", "Qwen/Qwen3-8B", "--tensor-parallel-size", "2"], resources: {limits:
      {nvidia.com/gpu: 2}}}]}}

Good:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {volumes: [{name: shm, emptyDir: {medium:
    Memory, sizeLimit: 8Gi}}],
      containers: [{name: a, image: "vllm/vllm-openai:v0.32.0", args: ["--model", "Qwen/Qwen3-8B",
      "--tensor-parallel-size", "2"], resources: {limits: {nvidia.com/gpu: 2}}, volumeMounts:
      [{name: shm, mountPath: /dev/shm}]}]}}

Fix: a memory volume of a few GiB at /dev/shm (it counts against the container's memory limit).
Source: vLLM docs, deployment/k8s; distributed/device_communicators/shm_broadcast.py; the CPU
backend asks for 160 MiB (measured, 0.32.0); platforms/cpu.py (0.19.0 leaves one rank in the
engine's own process, 0.20.0 does not).
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule
from barostat.lint.rules._parallel import workers_in_container

_MIB = 2**20
NEEDED_CPU_BYTES = 160 * _MIB
NEEDED_CARDS_BYTES = 512 * _MIB
CPU_WORKER_SINCE = "0.20.0"


def judge(scene: Scene) -> Iterator[Found]:
    """Every engine of several workers with little shared memory."""
    for engine in scene.engines:
        host = engine.host
        if (
            host is None
            or host.shm_bytes is None
            or engine.form == "values"
            or (engine.pod is not None and not engine.pod.raw)
        ):
            continue
        if host.other_device and host.gpus is None:
            continue
        cpu = (
            engine.is_cpu
            and not (host.gpus or 0)
            and not (engine.version is not None and engine.version.before(CPU_WORKER_SINCE))
        )
        workers = workers_in_container(engine)
        needed = NEEDED_CARDS_BYTES if workers > 1 else NEEDED_CPU_BYTES if cpu else 0
        if host.shm_bytes >= needed:
            continue
        why = f"{workers} workers" if workers > 1 else "the CPU backend"
        argument = engine.arguments.get("tensor_parallel_size")
        told = workers > 1 or engine.version is not None or (engine.floating and engine.own_image)
        yield Found(
            host.shm_place or (argument.place if argument is not None else engine.place),
            f"/dev/shm has {host.shm_bytes / _MIB:.0f} MiB, too little for {why}",
            "shm_size: 8g, or ipc: host"
            if engine.form == "compose"
            else "an emptyDir of medium Memory at /dev/shm",
            severity=None if told else "note",
            confidence=None if told else "low",
            persona=None if told else "pedant",
        )


RULE = Rule("shm-too-small", "too little shared memory", judge, "error")
