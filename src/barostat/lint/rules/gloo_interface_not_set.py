"""A network interface for NCCL and none for Gloo.

Meaning: Over several nodes vLLM makes a Gloo group beside each NCCL group. NCCL_SOCKET_IFNAME does
not count for Gloo, which takes the interface that the host name resolves to.
Impact: "Gloo connectFullMesh failed", or a hang as the workers meet.

Bad:

    NCCL_SOCKET_IFNAME=eth0 vllm serve Qwen/Qwen3-235B-A22B --tensor-parallel-size 8 --nnodes 2 --node-rank 0

Good:

    NCCL_SOCKET_IFNAME=eth0 GLOO_SOCKET_IFNAME=eth0 vllm serve Qwen/Qwen3-235B-A22B --tensor-parallel-size 8 --nnodes 2 --node-rank 0

Fix: GLOO_SOCKET_IFNAME with the same interface.
Source: vLLM docs, usage/troubleshooting (incorrect network setup); gpustack issue 2125; vLLM issue
5094.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule


def judge(scene: Scene) -> Iterator[Found]:
    """Every engine over several nodes that sets the one and not the other."""
    for engine in scene.engines:
        nccl = engine.env.get("NCCL_SOCKET_IFNAME")
        several = engine.has("nnodes") or (engine.pod is not None and engine.pod.nodes > 1)
        known = engine.env_complete or engine.form == "script"
        if (
            nccl is None
            or not several
            or not known
            or "GLOO_SOCKET_IFNAME" in engine.env
            or "GLOO_SOCKET_IFNAME" in engine.env_secret
        ):
            continue
        yield Found(
            nccl.place,
            "NCCL_SOCKET_IFNAME is set and GLOO_SOCKET_IFNAME is not: Gloo may choose another "
            "interface",
            f"GLOO_SOCKET_IFNAME={nccl.text}",
        )


RULE = Rule("gloo-interface-not-set", "an interface for NCCL alone", judge, "warning", "medium")
