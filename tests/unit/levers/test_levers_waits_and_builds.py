"""What is proposed for a start that waited in vain, an image that lacks something, and ranks that
do not reach each other.
"""

from __future__ import annotations

import pytest
from tests.support.lever_questions import ask, proposed

from barostat.core.config import ConfigScalar
from barostat.core.lever import NotApplicable, Proposal

OLD = "TimeoutError: Timed out waiting for engines to send initial message on input socket."
NEW = (
    "TimeoutError: Timed out waiting for engine core processes to start. Waited 900s "
    "(configured by VLLM_ENGINE_READY_TIMEOUT_S)."
)


@pytest.mark.parametrize(
    ("line", "version", "begins"),
    [
        (NEW, None, "env: [{name: VLLM_ENGINE_READY_TIMEOUT_S, value: '5400'}]"),
        (OLD, "0.14.0", "env: [{name: VLLM_ENGINE_READY_TIMEOUT_S, value: '3600'}]"),
        (OLD, None, "if this version takes it"),
        (OLD, "0.10.2", "the weights on faster storage; or vLLM 0.12.0"),
        (
            "Failed: Cuda error /src/custom_all_reduce.cuh:455 'invalid argument'",
            "0.32.0",
            "--disable-custom-all-reduce",
        ),
        ("Waiting for creating a placement group of specs for 70 seconds.", "0.32.0", "ray status"),
        (
            "RuntimeError: Every node should have a unique IP address.",
            "0.32.0",
            "env: VLLM_HOST_IP",
        ),
        (
            "ValueError: a.lm_head.weight is unsupported LoRA weight",
            "0.32.0",
            "an adapter with nothing but",
        ),
    ],
)
def test_a_start_that_waited_in_vain_gets_what_its_version_has(
    line: str, version: str | None, begins: str
) -> None:
    assert proposed(
        ask(
            "fix-argument",
            "bad-config",
            "argument",
            version=version,
            log_invalid_config=(1.0, line),
        )
    ).startswith(begins)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("KeyError: 'getpwuid(): uid not found: 1234'", "runAsUser"),
        ("ValueError: Model architectures ['M'] failed to be inspected.", "first error above"),
        (
            "AttributeError: T has no attribute all_special_tokens_extended",
            "transformers older than 5",
        ),
        (
            "NotImplementedError: No compiled cutlass_scaled_mm for CUDA device capability: 80",
            "kernels for",
        ),
    ],
)
def test_what_an_image_lacks_is_said(line: str, words: str) -> None:
    assert words in proposed(ask("pod-spec", "bad-config", "pod", log_broken_install=(1.0, line)))


def _hung(line: str, **config: ConfigScalar) -> Proposal | NotApplicable:
    return ask(
        "collective-debug",
        "hung-engine",
        "collective",
        config=config,
        log_collective_timeout=(1.0, line),
    )


def test_ranks_that_do_not_reach_each_other_get_the_path_that_is_at_fault() -> None:
    gloo = (1.0, "RuntimeError: Gloo connectFullMesh failed with [pair.cc:144] no error")
    assert "GLOO_SOCKET_IFNAME" in proposed(
        ask("collective-debug", "hung-engine", "collective", log_collective_timeout=gloo)
    )
    assert "GLOO_SOCKET_IFNAME" not in str(_hung(gloo[1], GLOO_SOCKET_IFNAME="eth0"))
    assert "GLOO_SOCKET_IFNAME" not in str(
        _hung(
            "RuntimeError: [/b/gloo/transport/tcp/pair.cc:598] Connection closed by peer "
            "[10.0.0.2]:1"
        )
    )
    assert "GLOO_SOCKET_IFNAME" in str(
        _hung(
            "RuntimeError: [/b/gloo/transport/tcp/pair.cc:799] connect [10.0.0.2]:1: No "
            "route to host"
        )
    )


@pytest.mark.parametrize(
    ("line", "config", "begins"),
    [
        (
            "CUDA error: peer access is not supported between these two devices",
            {},
            "--disable-custom-all-reduce",
        ),
        (
            "NCCL WARN Cuda failure 'peer access is not supported between these two devices'",
            {},
            "env: [{name: NCCL_P2P_DISABLE",
        ),
        (
            "NCCL WARN Cuda failure 'peer access is not supported between these two devices'",
            {"NCCL_P2P_DISABLE": "1"},
            "--disable-custom-all-reduce",
        ),
        (
            "nvmlDeviceGetP2PStatus(0,0,NVML_P2P_CAPS_INDEX_READ) failed: Not Supported",
            {},
            "the node's driver and NVML",
        ),
    ],
)
def test_who_is_refused_the_other_cards_memory_is_told_apart(
    line: str, config: dict[str, ConfigScalar], begins: str
) -> None:
    found = _hung(line, **config)
    assert proposed(found).startswith(begins)
    assert isinstance(found, Proposal)
    assert found.rank == 10


def test_a_card_that_is_not_the_first_is_not_the_only_one() -> None:
    line = (
        1.0,
        (
            "CUDA out of memory. Tried to allocate 2.50 GiB. GPU {} has a total capacity of "
            "79.25 GiB of which 1.79 GiB is free."
        ),
    )
    for index, config, change in (
        (5, {}, "--tensor-parallel-size <twice the present one>"),
        (5, {"tensor_parallel_size": 8}, "--tensor-parallel-size 16"),
        (0, {}, "--tensor-parallel-size 2"),
    ):
        said = (line[0], line[1].format(index))
        answer = ask(
            "tensor-parallel-up",
            "gpu-oom",
            "startup",
            config=dict(config),
            log_gpu_oom_startup=said,
        )
        assert proposed(answer) == change
