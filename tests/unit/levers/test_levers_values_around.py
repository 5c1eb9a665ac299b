"""What each lever of what surrounds an engine says: the host, the manifest, the node, the rollout,
the replicas, the gateway.
"""

from __future__ import annotations

import importlib

import pytest
from tests.support.lever_questions import GIB, NOW, ask, proposed, refused

from barostat.catalog.signals import signal
from barostat.core.config import ConfigScalar
from barostat.core.lever import Proposal, Situation
from barostat.core.object_reference import ObjectReference
from barostat.core.window import Window


def test_the_host_gets_what_it_lacks() -> None:
    assert (
        proposed(ask("api-server-count", "host-bound", "tokenizer", api_server_cpu_cores=0.99))
        == "--api-server-count 2"
    )
    assert refused(ask("api-server-count", "host-bound", "tokenizer", cpu_limit_cores=2))
    assert "3.9 of" in refused(
        ask("api-server-count", "host-bound", "cpu", cpu_limit_cores=4, cpu_usage_cores=3.94)
    )
    assert (
        proposed(ask("api-server-count", "host-bound", "tokenizer", config={"api_server_count": 2}))
        == "--api-server-count 4"
    )
    assert '"8"' in proposed(
        ask("cpu-limit", "host-bound", "cpu", cpu_limit_cores=4, cpu_throttled_ratio=0.4)
    )
    assert refused(ask("cpu-limit", "host-bound", "cpu", cpu_limit_cores=4, cpu_usage_cores=1.0))
    assert refused(ask("cpu-limit", "host-bound", "cpu"))
    assert "48Gi" in proposed(
        ask("host-memory-limit", "host-oom", "cgroup", host_memory_limit_bytes=32 * GIB)
    )
    assert "30Gi" in proposed(
        ask("host-memory-limit", "host-oom", "node-eviction", host_memory_bytes=29.5 * GIB)
    )
    assert "1.5 times" in proposed(ask("host-memory-limit", "host-oom", "cgroup"))
    assert (
        proposed(ask("host-memory-less", "host-oom", "cgroup", config={"kv_offloading_size": 32.0}))
        == "--kv-offloading-size 16"
    )
    assert (
        proposed(
            ask(
                "host-memory-less",
                "host-oom",
                "cgroup",
                version="0.6.4",
                config={"swap_space": 16.0},
            )
        )
        == "remove --swap-space"
    )
    assert refused(
        ask(
            "host-memory-less", "host-oom", "cgroup", version="0.12.0", config={"swap_space": 16.0}
        ),
        classic=True,
    )


def test_a_service_named_vllm_is_told_from_an_argument() -> None:
    line = (
        1.0,
        (
            "ValueError: VLLM_PORT 'tcp://198.51.100.7:8000' appears to be a URI. This may be "
            "caused by a Kubernetes service discovery issue"
        ),
    )
    change = proposed(ask("fix-argument", "bad-config", "argument", log_invalid_config=line))
    assert change == "spec.template.spec.enableServiceLinks: false"


def test_the_manifest_line_that_is_wrong_is_named() -> None:
    shm = proposed(
        ask(
            "shm-size",
            "bad-config",
            "shm",
            config={"tensor_parallel_size": 4},
            pod_shm_bytes=64 * 1024.0**2,
        )
    )
    assert "/dev/shm" in shm
    assert "8Gi" in shm
    assert refused(ask("shm-size", "hung-engine", "collective", pod_shm_bytes=16 * GIB))
    assert "not recorded" in str(ask("shm-size", "hung-engine", "collective").because)
    heads = (
        1.0,
        (
            "ValueError: Total number of attention heads (40) must be divisible by tensor "
            "parallel size (3)."
        ),
    )
    assert (
        proposed(ask("fix-argument", "bad-config", "argument", log_invalid_config=heads))
        == "--tensor-parallel-size 2"
    )
    torch = (1.0, "AssertionError: 151936 is not divisible by 5")
    assert (
        proposed(ask("fix-argument", "bad-config", "argument", log_invalid_config=torch))
        == "--tensor-parallel-size 4"
    )
    assert "failureThreshold: 120" in proposed(
        ask("probes", "bad-config", "probe", pod_starting_s=600, config={"port": 9000})
    )
    assert "port: 9000" in proposed(ask("probes", "bad-config", "probe", config={"port": 9000}))
    line = (1.0, "vllm: error: unrecognized arguments: --swap-space 4")
    answer = ask("remove-argument", "bad-config", "argument", log_unknown_argument=line)
    assert proposed(answer) == "remove --swap-space 4"
    assert "0.18.0" in str(answer.because)
    assert (
        proposed(ask("remove-argument", "bad-config", "argument", config={"swap_space": 4.0}))
        == "remove --swap-space"
    )
    taken = (1.0, "[Errno 98] address already in use")
    assert (
        proposed(ask("fix-argument", "bad-config", "pod", in_cluster=False, log_port_in_use=taken))
        == "--port 8001"
    )
    assert refused(ask("pod-spec", "bad-config", "pod", log_port_in_use=taken))
    both: dict[str, ConfigScalar] = {"max_num_seqs": 4096, "max_num_batched_tokens": 2048}
    assert (
        proposed(ask("fix-argument", "bad-config", "argument", config=both))
        == "--max-num-batched-tokens 4096"
    )
    assert "invalid choice" in proposed(
        ask(
            "fix-argument",
            "bad-config",
            "argument",
            log_invalid_config=(1.0, "error: argument --dtype: invalid choice: 'fp1'"),
        )
    )
    gated = (1.0, "401 Client Error: Unauthorized for url: https://huggingface.co/org/m")
    assert "HF_TOKEN" in proposed(
        ask("model-path", "bad-config", "model", log_model_not_found=gated)
    )
    assert "HF_HUB_OFFLINE" in proposed(
        ask(
            "model-path",
            "bad-config",
            "model",
            log_model_not_found=(1.0, "couldn't connect to 'https://huggingface.co'"),
        )
    )
    assert "image:" in proposed(
        ask("pod-spec", "bad-config", "pod", pod_image_error=(1.0, "ErrImagePull: not found"))
    )
    full = ask(
        "pod-spec",
        "bad-config",
        "pod",
        log_storage_refused=(1.0, "OSError: [Errno 28] No space left on device: '/c/x'"),
    )
    assert "larger volume" in proposed(full)
    denied = ask(
        "pod-spec",
        "bad-config",
        "pod",
        log_storage_refused=(1.0, "PermissionError: [Errno 13] Permission denied: '/.triton'"),
    )
    assert "TRITON_CACHE_DIR" in proposed(denied)


@pytest.mark.parametrize(
    ("line", "change"),
    [
        (
            "Please pass the argument `trust_remote_code=True` to allow custom code to be run.",
            "--trust-remote-code",
        ),
        (
            (
                "ValueError: Bfloat16 is only supported on GPUs with compute capability of at "
                "least 8.0."
            ),
            "--dtype half",
        ),
        (
            (
                "ValueError: Call to add_lora method failed: LoRA rank 64 is greater than "
                "max_lora_rank 16."
            ),
            "--max-lora-rank 64",
        ),
        (
            (
                "Value error, max_num_batched_tokens (2048) is smaller than max_model_len "
                "(32768). This effectively limits"
            ),
            "--max-num-batched-tokens 32768",
        ),
        (
            (
                "Value error, World size (8) is larger than the number of available GPUs (4) "
                "in this node."
            ),
            "nvidia.com/gpu: 8",
        ),
        (
            (
                "ValueError: Cannot provide a placement group of "
                "placement_group_specs=[{'GPU': 1.0}] within 1800 s"
            ),
            "ray status",
        ),
        (
            "TypeError: Error: --enable-auto-tool-choice requires --tool-call-parser",
            "--tool-call-parser",
        ),
    ],
)
def test_a_refused_value_whose_cure_the_line_tells(line: str, change: str) -> None:
    answer = proposed(ask("fix-argument", "bad-config", "argument", log_invalid_config=(1.0, line)))
    assert change in answer
    assert not answer.startswith("correct")


def test_a_long_line_is_cut_between_words_and_says_so() -> None:
    line = (
        "error: argument --kv-cache-dtype: invalid choice: 'fp8_e4m4' (choose from "
        + ", ".join(["'fp8_ds_mla'"] * 20)
        + ")"
    )
    answer = proposed(
        ask("fix-argument", "bad-config", "argument", log_unknown_argument=(1.0, line))
    )
    assert answer.endswith("'fp8_ds_mla'…")


@pytest.mark.parametrize(
    ("line", "change"),
    [
        ("RuntimeError: No CUDA GPUs are available", "nvidia.com/gpu: <one for each worker"),
        ("ModuleNotFoundError: No module named 'lmcache'", "holds what is missing"),
        (
            (
                "RuntimeError: flashinfer-cubin version (0.5.2) does not match flashinfer "
                "version (0.5.3). Please install"
            ),
            "as released",
        ),
        ("RuntimeError: HIP error: invalid device function", "this node's driver and card"),
    ],
)
def test_a_pod_that_lacks_a_card_is_no_image_that_does_not_fit(line: str, change: str) -> None:
    assert change in proposed(ask("pod-spec", "bad-config", "pod", log_broken_install=(1.0, line)))


def test_damaged_weights_are_fetched_anew_and_not_looked_for_elsewhere() -> None:
    line = (
        1.0,
        "safetensors_rust.SafetensorError: Error while deserializing header: HeaderTooLarge",
    )
    answer = ask("model-path", "bad-config", "model", log_model_not_found=line)
    assert "fetch them anew" in proposed(answer)
    bucket = (1.0, "botocore.exceptions.NoCredentialsError: Unable to locate credentials")
    assert "object store" in proposed(
        ask("model-path", "bad-config", "model", log_model_not_found=bucket)
    )


def test_memory_that_changes_while_it_is_measured_is_another_process() -> None:
    line = (
        1.0,
        (
            "AssertionError: Error in memory profiling. Initial free memory 40.1 GiB, current "
            "free memory 44.2 GiB."
        ),
    )
    assert "compute-apps" in proposed(
        ask("free-the-card", "gpu-oom", "startup", log_gpu_oom_startup=line)
    )


def test_an_engine_that_wakes_up_to_a_full_card_has_a_neighbour() -> None:
    line = (
        1.0,
        "RuntimeError: CUDA Error: out of memory at /workspace/csrc/cumem_allocator.cpp:62",
    )
    assert "compute-apps" in proposed(
        ask("free-the-card", "gpu-oom", "serving", log_gpu_oom_serving=line)
    )


@pytest.mark.parametrize(
    ("reason", "change"),
    [
        (
            (
                "0/5 nodes are available: 5 Insufficient nvidia.com/gpu, 2 node(s) had "
                "untolerated taint {a: b}."
            ),
            "a free GPU (node pool",
        ),
        (
            "0/5 nodes are available: pod has unbound immediate PersistentVolumeClaims.",
            "kubectl get pvc",
        ),
        ("0/5 nodes are available: 5 Insufficient memory.", "smaller requests"),
        (
            "0/5 nodes are available: 5 node(s) had untolerated taint {nvidia.com/gpu: present}.",
            "toleration",
        ),
        ("", "a free GPU (node pool"),
    ],
)
def test_a_pod_without_a_node_gets_what_the_scheduler_lacks(reason: str, change: str) -> None:
    assert change in proposed(
        ask("wait-for-capacity", "scaling-lag", "pending", pod_pending=(1.0, reason))
    )


def test_a_node_short_of_disk_is_not_helped_with_memory() -> None:
    disk = (1.0, "The node was low on resource: ephemeral-storage. Container vllm was using 80Gi.")
    answer = proposed(
        ask(
            "host-memory-limit",
            "host-oom",
            "node-eviction",
            host_memory_limit_bytes=32 * GIB,
            pod_evicted=disk,
        )
    )
    assert "ephemeral-storage" in answer
    assert "32Gi" not in answer


def test_a_hook_that_refuses_the_driver_is_an_image_for_another_node() -> None:
    hook = (
        1.0,
        (
            "RunContainerError: nvidia-container-cli: requirement error: unsatisfied "
            "condition: cuda>=12.9"
        ),
    )
    assert "this node's driver" in proposed(
        ask("pod-spec", "bad-config", "pod", pod_image_error=hook)
    )


def test_faults_of_the_node_go_to_its_owner_and_hangs_are_restarted() -> None:
    xid = ask(
        "cordon-and-move", "node-fault", "xid", kernel_xid_fatal=(1.0, "79: fallen off the bus")
    )
    assert "kubectl cordon" in proposed(xid)
    assert "79" in str(xid.because)
    assert "-CONT" in proposed(
        ask("controlled-restart", "hung-engine", "no-tokens", engine_core_stopped=1)
    )
    standing = ask(
        "controlled-restart", "hung-engine", "no-tokens", tokens_stalled_s=0, running_requests=0
    )
    assert isinstance(standing, Proposal)
    assert str(standing.because).startswith("requests wait and none is admitted")
    hung = ask("controlled-restart", "hung-engine", "no-tokens", tokens_stalled_s=120)
    assert proposed(hung) == "kubectl delete pod vllm-6d5c7b9f8d-x2x4z -n chat --grace-period=60"
    assert "NCCL_DEBUG" in proposed(ask("collective-debug", "hung-engine", "collective"))
    assert (
        proposed(
            ask(
                "collective-debug",
                "hung-engine",
                "collective",
                config={"NCCL_DEBUG": "INFO", "NCCL_P2P_DISABLE": 1},
            )
        )
        == "--disable-custom-all-reduce"
    )
    assert refused(ask("collective-debug", "hung-engine", "no-tokens"))


def test_a_rollout_is_undone_only_while_it_is_recent() -> None:
    recent = ask(
        "undo-rollout", "kv-preemption-thrash", rollout_age_s=(900.0, "--max-num-seqs 64 -> 256")
    )
    assert "deployment/vllm -n chat (" in proposed(recent)
    assert "256" in str(recent.because)
    assert "statefulset/engine" in proposed(
        ask("undo-rollout", "gpu-oom", "serving", replica="engine-0", rollout_age_s=60.0)
    )
    assert refused(ask("undo-rollout", "kv-preemption-thrash", rollout_age_s=86_400.0))


def test_a_rollout_whose_pods_find_no_node_is_undone_where_it_asks_for_more() -> None:
    more = (60.0, "revision 2 of vllm: limits nvidia.com/gpu 1 -> 8")
    assert "rollout undo" in proposed(
        ask("undo-rollout", "scaling-lag", "pending", rollout_age_s=more, pod_pending=1.0)
    )
    assert refused(
        ask("undo-rollout", "scaling-lag", "cold-start", rollout_age_s=more, pod_pending=0.0)
    )
    other = (60.0, "revision 2 of vllm: --max-num-seqs 64 -> 32")
    assert refused(
        ask("undo-rollout", "scaling-lag", "pending", rollout_age_s=other, pod_pending=1.0)
    )


def test_a_first_revision_is_not_undone() -> None:
    assert refused(
        ask(
            "undo-rollout",
            "bad-config",
            "argument",
            rollout_age_s=(60.0, "revision 1 of vllm: first revision that is kept"),
        )
    )


def test_a_rollout_that_changed_a_setting_is_undone_before_anything_is_tuned() -> None:
    tuned = ask(
        "undo-rollout",
        "kv-preemption-thrash",
        rollout_age_s=(900.0, "revision 7 of vllm: --max-num-seqs 64 -> 256"),
    )
    restarted = ask(
        "undo-rollout",
        "kv-preemption-thrash",
        rollout_age_s=(900.0, "revision 7 of vllm: no change to the engine's container"),
    )
    capped = ask(
        "edge-input-cap", "kv-preemption-thrash", prompt_tokens_p95=742.0, prompt_tokens_p50=512.0
    )
    assert isinstance(tuned, Proposal)
    assert isinstance(restarted, Proposal)
    assert isinstance(capped, Proposal)
    assert tuned.rank < capped.rank < restarted.rank


def test_a_rollback_names_the_workload_of_the_window() -> None:
    rolled = signal("rollout_age_s", [(NOW, 900.0)], "test", "--max-num-seqs 64 -> 256")
    assert rolled is not None
    found = importlib.import_module("barostat.levers.undo_rollout").LEVER
    window = Window(
        "engine-0", NOW, {rolled.name: rolled}, workload=ObjectReference("deployment", "chat")
    )
    assert "undo deployment/chat (" in proposed(
        found.propose(Situation("kv-preemption-thrash", "", window))
    )


def test_replicas_follow_what_waits() -> None:
    assert (
        proposed(
            ask(
                "scale-out",
                "compute-bound",
                replicas_wanted=4,
                running_requests=32,
                waiting_requests=16,
            )
        )
        == "replicas: 6"
    )
    assert (
        proposed(
            ask(
                "scale-out",
                "compute-bound",
                replicas_wanted=4,
                running_requests=32,
                waiting_requests=500,
                hpa_at_max=1,
            )
        )
        == "maxReplicas: 8"
    )
    assert "kubectl scale deployment/vllm" in proposed(ask("scale-out", "slot-bound"))
    assert "one request" in refused(ask("scale-out", "kv-preemption-thrash", running_requests=1))
    assert refused(ask("scale-out", "scaling-lag", "cold-start", replicas_wanted=4))


def test_capacity_on_its_way_is_waited_for() -> None:
    pending = ask(
        "wait-for-capacity",
        "scaling-lag",
        "pending",
        pod_pending=(1.0, "0/5 nodes are available: 5 Insufficient nvidia.com/gpu"),
    )
    assert "add a node" in proposed(pending)
    assert "Insufficient" in str(pending.because)
    assert "kubectl wait" in proposed(
        ask("wait-for-capacity", "scaling-lag", "cold-start", pod_starting_s=90)
    )


def test_the_card_is_freed_where_somebody_else_holds_it() -> None:
    assert "nvidia-smi" in proposed(
        ask(
            "free-the-card",
            "gpu-oom",
            "startup",
            gpu_foreign_memory_bytes=(20 * GIB, "pid 77 python"),
        )
    )
    taken = ask(
        "free-the-card",
        "gpu-oom",
        "startup",
        log_gpu_oom_startup=(1.0, "Free memory on device (40.0/80.0 GiB)"),
    )
    assert "40" in str(taken.because)
    assert refused(ask("free-the-card", "gpu-oom", "startup"))


@pytest.mark.parametrize("replica", ["gpu-3:8000", "local", "replica-0", "vllm-6d5c7b9f8d-x2x4z"])
def test_what_no_cluster_told_of_is_in_no_command(replica: str) -> None:
    """An address, a folder of a bundle: whatever it looks like, it is a pod only where a cluster
    says so.
    """

    changes = [
        ask(
            "controlled-restart",
            "hung-engine",
            "no-tokens",
            replica=replica,
            in_cluster=False,
            tokens_stalled_s=120,
        ),
        ask(
            "cordon-and-move",
            "node-fault",
            "xid",
            replica=replica,
            in_cluster=False,
            kernel_xid_fatal=(1.0, "79"),
        ),
        ask(
            "wait-for-capacity",
            "scaling-lag",
            "cold-start",
            replica=replica,
            in_cluster=False,
            pod_starting_s=90,
        ),
        ask("scale-out", "slot-bound", replica=replica, in_cluster=False),
    ]
    assert not [
        change for change in map(proposed, changes) if "kubectl" in change or replica not in change
    ]
    assert f"restart the engine at {replica}" in proposed(changes[0])
    waiting = (1.0, "CreateContainerError")
    in_commands = (
        ask(
            "pod-spec",
            "bad-config",
            "pod",
            replica=replica,
            in_cluster=False,
            pod_crash_looping=waiting,
        ),
        ask(
            "undo-rollout",
            "gpu-oom",
            "serving",
            replica=replica,
            in_cluster=False,
            rollout_age_s=60.0,
        ),
    )
    assert not [change for change in map(proposed, in_commands) if replica in change]


def test_the_gateway_is_looked_at_where_the_time_is_lost() -> None:
    assert "proxy_read_timeout" in proposed(
        ask("check-network", "network-or-gateway", gateway_timeout_ratio=0.2)
    )
    assert "keepalive" in proposed(
        ask("check-network", "network-or-gateway", gateway_upstream_share_ratio=0.3)
    )
    assert "directly" in proposed(ask("check-network", "network-or-gateway"))
