"""What is proposed for a start that failed: a rank, a port, cards, a driver, a disk."""

from __future__ import annotations

import pytest
from tests.support.lever_questions import GIB, ask, proposed, refused

from barostat.core.config import ConfigScalar
from barostat.core.diagnosis import CauseName
from barostat.core.lever import NotApplicable, Proposal

KEPT = " with the limits that it has now, if no request has "


def lora(line: str, version: str | None = "0.32.0") -> str:
    return proposed(
        ask(
            "fix-argument",
            "bad-config",
            "argument",
            version=version,
            log_invalid_config=(1.0, line),
        )
    )


@pytest.mark.parametrize(
    ("rank", "version", "change"),
    [
        (64, None, "--max-lora-rank 64"),
        (24, "0.5.0", "--max-lora-rank 32"),
        (48, "0.32.0", "--max-lora-rank 64"),
        (257, "0.32.0", "--max-lora-rank 320"),
        (512, "0.11.0", "--max-lora-rank 512"),
        (
            128,
            "0.6.3",
            "if this version takes it (older ones end at 64 or 256): --max-lora-rank 128",
        ),
        (128, None, "if this version takes it (older ones end at 64 or 256): --max-lora-rank 128"),
        (
            513,
            "0.32.0",
            "an adapter of rank 512 or less: no --max-lora-rank is as high as this one",
        ),
    ],
)
def test_a_rank_is_one_that_the_engine_takes(rank: int, version: str | None, change: str) -> None:
    assert (
        lora(f"ValueError: LoRA rank {rank} is greater than max_lora_rank 16.", version) == change
    )


def test_a_rank_that_was_refused_becomes_the_next_of_those_that_the_line_names() -> None:
    assert (
        lora("ValueError: max_lora_rank (48) must be one of (8, 16, 32, 64).", None)
        == "--max-lora-rank 64"
    )
    assert "of rank 64 or less" in lora(
        "ValueError: max_lora_rank (128) must be one of (8, 16, 32, 64).", None
    )


def test_the_port_of_a_pod_changes_with_its_probes_and_its_service() -> None:
    taken = (1.0, "[Errno 98] address already in use")
    change = proposed(ask("fix-argument", "bad-config", "pod", log_port_in_use=taken))
    assert change.startswith("8001 in the place of 8000")
    assert all(word in change for word in ("--port", "containerPort", "probes", "targetPort"))
    assert (
        proposed(ask("fix-argument", "bad-config", "pod", in_cluster=False, log_port_in_use=taken))
        == "--port 8001"
    )


def pod(
    line: str, config: dict[str, ConfigScalar] | None = None, *, in_cluster: bool = True
) -> Proposal | NotApplicable:
    return ask(
        "pod-spec",
        "bad-config",
        "pod",
        in_cluster=in_cluster,
        config=config,
        log_broken_install=(1.0, line),
    )


@pytest.mark.parametrize(
    ("config", "cards"),
    [
        ({}, "<one for each worker"),
        ({"tensor_parallel_size": 4}, "<one for each worker"),
        ({"tensor_parallel_size": 4, "pipeline_parallel_size": 2}, "8}"),
        ({"tensor_parallel_size": 1, "pipeline_parallel_size": 1}, "1}"),
        ({"tensor_parallel_size": 2, "pipeline_parallel_size": 1, "data_parallel_size": 4}, "8}"),
        (
            {
                "tensor_parallel_size": 2,
                "pipeline_parallel_size": 1,
                "data_parallel_size": 8,
                "data_parallel_size_local": 4,
            },
            "8}",
        ),
        (
            {"tensor_parallel_size": 8, "pipeline_parallel_size": 2, "nnodes": 2},
            "<one for each worker",
        ),
        (
            {
                "tensor_parallel_size": 8,
                "pipeline_parallel_size": 2,
                "distributed_executor_backend": "ray",
            },
            "<one for each worker",
        ),
    ],
)
def test_as_many_cards_as_the_parallel_sizes_ask_for_and_no_number_that_is_not_known(
    config: dict[str, ConfigScalar], cards: str
) -> None:
    assert f"nvidia.com/gpu: {cards}" in proposed(
        pod("RuntimeError: No CUDA GPUs are available", config)
    )


def test_docker_without_the_toolkit_is_not_told_what_it_was_told_already() -> None:
    line = (
        'docker: Error response from daemon: could not select device driver "" with '
        "capabilities: [[gpu]]."
    )
    change = proposed(pod(line, in_cluster=False))
    assert "nvidia-ctk runtime configure" in change
    assert "--gpus" not in change


@pytest.mark.parametrize(
    "line",
    [
        "nvidia-container-cli: initialization error: nvml error: driver not loaded",
        "nvidia-container-cli: device error: GPU-6a2f: unknown device",
        "RuntimeError: Failed to initialize NVML: Driver/library version mismatch",
    ],
)
def test_a_driver_or_a_card_that_fails_is_its_owners_and_no_image_mends_it(line: str) -> None:
    reason = ask(
        "pod-spec", "bad-config", "pod", pod_image_error=(1.0, f"RunContainerError: {line}")
    )
    for answer in (pod(line), reason):
        assert "the node's owner" in proposed(answer)
        assert "image:" not in proposed(answer)
    outside = proposed(pod(line, in_cluster=False))
    assert "kubectl" not in outside
    assert "owner" in outside


def test_a_node_without_the_runtime_of_its_cards_is_its_owners() -> None:
    sandbox = (
        1.0,
        (
            'FailedCreatePodSandBox: failed to get sandbox runtime: no runtime for "nvidia" is '
            "configured"
        ),
    )
    assert "Toolkit" in proposed(ask("pod-spec", "bad-config", "pod", pod_image_error=sandbox))
    unmet = (
        "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.9, please "
        "update your driver"
    )
    assert "image: <a build for this node's driver" in proposed(pod(unmet))


def test_what_a_compiler_lacks_is_read_where_it_says_it() -> None:
    ended = (
        "subprocess.CalledProcessError: Command '['/usr/bin/gcc', '/tmp/a.c']' returned "
        "non-zero exit status 1."
    )
    assert "above that line" in proposed(pod(ended))
    assert "holds what is missing" in proposed(
        pod("/tmp/a.c:1:10: fatal error: Python.h: No such file or directory")
    )


def evicted(message: str) -> str:
    return proposed(
        ask(
            "host-memory-limit",
            "host-oom",
            "node-eviction",
            host_memory_limit_bytes=32 * GIB,
            pod_evicted=(1.0, message),
        )
    )


@pytest.mark.parametrize(
    ("message", "change"),
    [
        (
            "Pod ephemeral local storage usage exceeds the total limit of containers 10Gi. ",
            "limits: {ephemeral-storage",
        ),
        (
            'Container vllm exceeded its local ephemeral storage limit "10Gi". ',
            "limits: {ephemeral-storage",
        ),
        (
            'Container memory-proxy exceeded its local ephemeral storage limit "10Gi". ',
            "limits: {ephemeral-storage",
        ),
        ('Usage of EmptyDir volume "cache" exceeds the limit "1Gi". ', "sizeLimit"),
        ('Usage of EmptyDir volume "shared-memory" exceeds the limit "1Gi". ', "sizeLimit"),
        (
            (
                "The node was low on resource: ephemeral-storage. Container vllm was using "
                "80Gi, request is 0."
            ),
            "requests: {ephemeral-storage",
        ),
        ("The node was low on resource: inodes. ", "requests: {ephemeral-storage"),
        ("The node had condition: [DiskPressure]. ", "requests: {ephemeral-storage"),
        ("The node was low on resource: pids. ", "fewer processes"),
        ("The node had condition: [PIDPressure]. ", "fewer processes"),
        ("Pod was terminated in response to imminent node shutdown.", "kubectl describe node"),
        (
            (
                "The node was low on resource: memory. Container disk-cache was using 80Gi, "
                "request is 0."
            ),
            "memory: 32Gi",
        ),
        ("The node had condition: [MemoryPressure]. ", "memory: 32Gi"),
        ("evicted", "memory: 32Gi"),
    ],
)
def test_an_eviction_is_answered_by_what_ran_short(message: str, change: str) -> None:
    for words in (message, f"Evicted: {message}"):
        answer = evicted(words)
        assert change in answer
        assert ("memory:" in change) == ("memory:" in answer)


@pytest.mark.parametrize(
    ("cause", "variant", "version", "kind", "begins"),
    [
        (
            "gpu-oom",
            "startup",
            "0.9.2",
            "video",
            "--limit-mm-per-prompt '{\"video\": 0}'" + KEPT + "a video",
        ),
        (
            "gpu-oom",
            "startup",
            "0.8.5",
            "video",
            "--limit-mm-per-prompt video=0" + KEPT + "a video",
        ),
        (
            "gpu-oom",
            "startup",
            None,
            "image",
            "--limit-mm-per-prompt '{\"image\": 0}'" + KEPT + "an image; else a smaller one",
        ),
        (
            "kv-pool-too-small",
            "length",
            "0.32.0",
            "video",
            "--limit-mm-per-prompt '{\"video\": 0}'" + KEPT + "a video",
        ),
    ],
)
def test_what_nobody_sends_is_not_measured_at_the_start(
    cause: CauseName, variant: str, version: str | None, kind: str, begins: str
) -> None:
    answer = ask(
        "limit-mm-per-prompt", cause, variant, version=version, config={"profiled_item": kind}
    )
    assert proposed(answer).startswith(begins)


def test_a_pool_that_is_only_too_small_is_asked_for_less_before_items_are_refused() -> None:
    def rank(pool_gib: float) -> int:
        config: dict[str, ConfigScalar] = {
            "profiled_item": "video",
            "available_kv_cache_memory_gib": pool_gib,
        }
        answer = ask("limit-mm-per-prompt", "kv-pool-too-small", "length", config=config)
        assert isinstance(answer, Proposal)
        return answer.rank

    assert rank(-0.5) < rank(3.0)


def test_items_are_not_refused_where_the_start_was_measured_without_them_or_went_on() -> None:
    assert "does not say" in refused(ask("limit-mm-per-prompt", "gpu-oom", "startup"))
    later: dict[str, ConfigScalar] = {
        "profiled_item": "video",
        "available_kv_cache_memory_gib": 3.0,
    }
    assert "had been measured" in refused(
        ask("limit-mm-per-prompt", "gpu-oom", "startup", config=later)
    )
    assert "had been measured" in refused(
        ask("limit-mm-per-prompt", "gpu-oom", "serving", config={"profiled_item": "video"})
    )
