"""Nodes, their GPUs, and what events tell about both."""

from __future__ import annotations

from typing import Any

import pytest

from barostat.core.signal import Signal
from barostat.platform import nodes
from barostat.platform.events import read_events, xid_codes
from barostat.platform.objects import instant
from barostat.symptoms._kernel_kills import node_ran_short

AT = instant("2026-11-21T12:00:00Z") or 0.0


def node(**status: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "gpu-1"},
        "spec": status.pop("spec", {}),
        "status": {
            "conditions": [
                {"type": "Ready", "status": "True"},
                {"type": "MemoryPressure", "status": "False"},
            ],
            "capacity": {"cpu": "64", "nvidia.com/gpu": "8"},
            "allocatable": {"cpu": "64", "nvidia.com/gpu": "8"},
            **status,
        },
    }


def node_event(
    reason: str, message: str, last: str = "2026-11-21T11:50:00Z", name: str = "gpu-1"
) -> dict[str, Any]:
    return {
        "reason": reason,
        "message": message,
        "involvedObject": {"kind": "Node", "name": name},
        "lastTimestamp": last,
    }


def facts(document: dict[str, Any] | None, *events: dict[str, Any]) -> dict[str, Signal]:
    documents: dict[str, Any] = {"nodes": [document] if document else [], "events": list(events)}
    return {
        signal.name: signal
        for signal in nodes.signals(documents, "gpu-1", read_events(documents), AT)
    }


def test_a_healthy_node() -> None:
    found = facts(node())
    assert {name: signal.last for name, signal in found.items()} == {
        "node_not_ready": 0,
        "node_gpu_unhealthy": 0,
    }


def test_a_cordon_is_told_and_is_no_illness() -> None:
    found = facts(node(spec={"unschedulable": True}))["node_not_ready"]
    assert (found.last, found.detail) == (0, "cordoned (unschedulable)")


@pytest.mark.parametrize(
    "condition",
    [
        {
            "type": "Ready",
            "status": "Unknown",
            "reason": "NodeStatusUnknown",
            "message": "Kubelet stopped posting node status.",
        },
        {"type": "Ready", "status": "False", "reason": "KubeletNotReady"},
        {"type": "MemoryPressure", "status": "True", "reason": "KubeletHasInsufficientMemory"},
        {"type": "DiskPressure", "status": "True", "reason": "KubeletHasDiskPressure"},
        {"type": "PIDPressure", "status": "True", "reason": "KubeletHasInsufficientPID"},
    ],
)
def test_a_sick_node_names_its_condition(condition: dict[str, str]) -> None:
    found = facts(node(conditions=[condition]))["node_not_ready"]
    assert found.last == 1
    assert condition["type"] in found.detail
    assert condition["reason"] in found.detail


def test_gpus_that_cannot_be_allocated_are_counted() -> None:
    found = facts(node(allocatable={"nvidia.com/gpu": "6"}))["node_gpu_unhealthy"]
    assert (found.last, found.detail) == (2, "2 of 8 nvidia.com/gpu cannot be allocated")
    amd = facts(node(capacity={"amd.com/gpu": "4"}, allocatable={"amd.com/gpu": "3"}))[
        "node_gpu_unhealthy"
    ]
    assert amd.last == 1


def test_a_node_without_gpus_or_a_status_says_nothing_of_them() -> None:
    assert "node_gpu_unhealthy" not in facts(node(capacity={"cpu": "8"}))
    assert facts({"metadata": {"name": "gpu-1"}}) == {}
    assert facts(None) == {}


@pytest.mark.parametrize(
    ("condition", "sick"),
    [
        ({"type": "XidCriticalError", "status": "True", "reason": '{"79":true}'}, True),
        ({"type": "XidCriticalError", "status": "True", "reason": '{"31":true}'}, False),
        ({"type": "XidCriticalError", "status": "False"}, False),
        ({"type": "GPUMissing", "status": "True", "reason": "GPUMissing"}, True),
        (
            {"type": "AcceleratedHardwareReady", "status": "False", "reason": "NvidiaXID48Error"},
            True,
        ),
        (
            {
                "type": "AcceleratedHardwareReady",
                "status": "True",
                "reason": "NvidiaAcceleratedHardwareIsReady",
            },
            False,
        ),
        ({"type": "UnhealthyNvidiaDevicePlugin", "status": "True", "reason": "x"}, True),
    ],
)
def test_gpu_conditions(condition: dict[str, str], sick: bool) -> None:
    found = facts(node(conditions=[{"type": "Ready", "status": "True"}, condition]))
    assert found["node_gpu_unhealthy"].last == float(sick)


def test_a_condition_with_a_fatal_xid_feeds_the_kernels_signal() -> None:
    found = facts(
        node(conditions=[{"type": "XidCriticalError", "status": "True", "reason": '{"79":true}'}])
    )
    assert (found["kernel_xid_fatal"].last, found["kernel_xid_fatal"].detail) == (1, "Xid 79")


def test_events_of_the_device_plugin() -> None:
    found = facts(
        node(),
        node_event("XidCriticalError", "Xid=48 on Device=GPU-7540, the device will go unhealthy."),
    )
    assert (found["kernel_xid_fatal"].last, found["node_gpu_unhealthy"].last) == (1, 1)
    assert "Xid 48" in found["kernel_xid_fatal"].detail


@pytest.mark.parametrize(
    "event",
    [
        node_event("XidError", "NVRM: Xid (PCI:0000:01:00): 31, pid=1, MMU Fault"),
        node_event("XidError", "NVRM: Xid (PCI:0000:01:00): 79", name="gpu-2"),
        node_event("XidError", "NVRM: Xid (PCI:0000:01:00): 79", last="2026-11-19T11:50:00Z"),
    ],
)
def test_a_programs_xid_another_nodes_and_an_old_one_are_no_fault(event: dict[str, Any]) -> None:
    assert {name: signal.last for name, signal in facts(node(), event).items()} == {
        "node_not_ready": 0,
        "node_gpu_unhealthy": 0,
    }


def test_the_kernels_kills_name_their_victim() -> None:
    found = facts(
        node(),
        node_event(
            "OOMKilling",
            "Memory cgroup out of memory: Killed process 4711 (VLLM::EngineCor) total-vm:1kB",
        ),
    )
    assert found["kernel_oom_kill"].detail.startswith(
        "killed: VLLM::EngineCor; OOMKilling: Memory cgroup out of memory"
    )
    assert not node_ran_short(found["kernel_oom_kill"].detail)


def test_a_kill_that_an_event_calls_the_nodes_is_the_nodes() -> None:
    found = facts(
        node(), node_event("SystemOOM", "System OOM encountered, victim process: python3, pid: 9")
    )
    assert node_ran_short(found["kernel_oom_kill"].detail)


@pytest.mark.parametrize("code", [31, 121])
def test_a_condition_that_names_a_code_which_says_nothing_of_the_card_is_no_fault(
    code: int,
) -> None:
    found = facts(
        node(
            conditions=[{"type": "XIDErrors", "status": "True", "reason": f"NvidiaXID{code}Error"}]
        )
    )
    assert found["node_gpu_unhealthy"].last == 0


def test_xid_codes_in_the_spellings_of_the_field() -> None:
    assert xid_codes("NVRM: Xid (PCI:0000:3b:00): 79, pid=77, GPU has fallen off the bus") == (79,)
    assert xid_codes("XidCriticalError: Xid=69 on Device=GPU-1") == (69,)
    assert xid_codes("NvidiaXID48Error") == (48,)
    assert xid_codes("0000:3b:00.0 exidence 12") == ()


def test_a_kill_of_something_else_on_the_node_is_not_ours() -> None:
    assert "kernel_oom_kill" not in facts(
        node(),
        node_event("SystemOOM", "System OOM encountered, victim process: fluent-bit, pid: 9"),
    )
    assert "kernel_oom_kill" in facts(node(), node_event("SystemOOM", "System OOM encountered"))


def test_an_xid_that_can_be_either_is_not_called_fatal() -> None:
    assert "kernel_xid_fatal" not in facts(
        node(), node_event("XidError", "NVRM: Xid (PCI:0000:01:00): 121, C2C link")
    )
