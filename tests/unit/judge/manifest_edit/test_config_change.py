"""From words to a change, from a change to the template, and which labels take a pod out of
rotation.
"""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.lever_questions import ask

from barostat.core.change import ConfigChange
from barostat.core.diagnosis import CauseName
from barostat.core.lever import Proposal
from barostat.core.object_reference import ObjectReference
from barostat.core.proposed_change import (
    Advise,
    EditPodSpec,
    ProposedChange,
    RollBack,
    Scale,
    SetEdgeLimit,
    SetFlag,
    SetMemory,
    SetServiceLinks,
    SetSharedMemory,
    SetStartupProbe,
    UnsetFlag,
)
from barostat.core.prose import Prose
from barostat.judge.manifest_edit.config_change import (
    change_of,
    changed_template,
    digest,
    setting_change,
)
from barostat.judge.manifest_edit.flag_surgery import NotChanged


def template(*args: str, shm: str | None = "1Gi", memory: str = "8Gi") -> dict[str, Any]:
    container: dict[str, Any] = {
        "name": "vllm",
        "image": "vllm/vllm-openai:v0.32.0",
        "args": ["m", *args],
        "resources": {
            "limits": {"memory": memory, "nvidia.com/gpu": "1"},
            "requests": {"memory": memory},
        },
    }
    spec: dict[str, Any] = {"containers": [container, {"name": "log", "image": "x"}]}
    if shm is not None:
        container["volumeMounts"] = [{"name": "shm", "mountPath": "/dev/shm"}]
        spec["volumes"] = [{"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": shm}}]
    return {"metadata": {"labels": {"app": "vllm", "tier": "gpu"}}, "spec": spec}


def of(proposed: ProposedChange, found: dict[str, Any], **more: Any) -> ConfigChange | NotChanged:
    return change_of(
        proposed, found, **{"replicas": 2, "config_maps": {}, "revision": None, **more}
    )


@pytest.mark.parametrize(
    ("proposed", "args", "change"),
    [
        (SetFlag("max_num_seqs", 48), [], ConfigChange("argument", "--max-num-seqs", None, "48")),
        (
            SetFlag("max_num_seqs", 48),
            ["--max-num-seqs=64"],
            ConfigChange("argument", "--max-num-seqs", "64", "48"),
        ),
        (
            SetFlag("enable_prefix_caching", True),
            [],
            ConfigChange("argument", "--enable-prefix-caching", None, "true"),
        ),
        (
            UnsetFlag("swap_space", as_refused="--swap-space 4"),
            ["--swap-space", "4"],
            ConfigChange("argument", "--swap-space", "4", None),
        ),
        (
            SetEdgeLimit("edge.kvTokenBudget", 1792),
            [],
            ConfigChange("limits", "edge.kvTokenBudget", None, "1792"),
        ),
        (Scale(5), [], ConfigChange("replicas", "replicas", "2", "3")),
    ],
)
def test_a_proposal_becomes_one_change(
    proposed: ProposedChange, args: list[str], change: ConfigChange
) -> None:
    assert of(proposed, template(*args)) == change


def test_pod_specs_and_revisions() -> None:
    assert of(EditPodSpec(SetMemory("12Gi")), template()) == ConfigChange(
        "pod-spec", "memory", "8Gi", "12Gi"
    )
    assert of(EditPodSpec(SetSharedMemory("8Gi")), template(shm=None)) == ConfigChange(
        "pod-spec", "/dev/shm", None, "8Gi"
    )
    undo = RollBack(ObjectReference("deployment", "vllm"))
    assert of(undo, template(), revision=("3", "2")) == ConfigChange(
        "revision", "revision", "3", "2"
    )
    assert isinstance(of(undo, template()), NotChanged)
    assert isinstance(of(Advise(Prose("add a node with a free GPU")), template()), NotChanged)


@pytest.mark.parametrize(
    "change",
    [
        ConfigChange("argument", "--max-num-seqs", "64", "48"),
        ConfigChange("pod-spec", "memory", "8Gi", "12Gi"),
        ConfigChange("pod-spec", "/dev/shm", "1Gi", "8Gi"),
        ConfigChange("pod-spec", "enableServiceLinks", None, "false"),
        ConfigChange(
            "pod-spec",
            "startupProbe",
            None,
            '{"httpGet": {"path": "/health", "port": 8000}, "periodSeconds": 10}',
        ),
    ],
)
def test_a_change_and_its_reverse_give_the_template_back(change: ConfigChange) -> None:
    former = template("--max-num-seqs", "64")
    there = changed_template(change, former)
    assert not isinstance(there, NotChanged)
    assert digest(there) != digest(former)
    back = changed_template(change.reversed(), there)
    assert not isinstance(back, NotChanged)
    assert digest(back) == digest(former)


@pytest.mark.parametrize(
    ("resources", "now"),
    [
        (
            {"limits": {"memory": "700Mi"}, "requests": {"memory": "500Mi", "cpu": "1"}},
            "700Mi (request 500Mi)",
        ),
        ({"limits": {"memory": "700Mi"}}, "700Mi (request none)"),
        ({"requests": {"memory": "1Gi"}}, "none (request 1Gi)"),
        ({}, None),
    ],
)
def test_limit_and_request_come_back_as_they_were(
    resources: dict[str, Any], now: str | None
) -> None:
    former = template()
    former["spec"]["containers"][0]["resources"] = resources
    change = of(EditPodSpec(SetMemory("12Gi")), former)
    assert change == ConfigChange("pod-spec", "memory", now, "12Gi")
    there = changed_template(change, former)
    assert not isinstance(there, NotChanged)
    assert there["spec"]["containers"][0]["resources"]["requests"]["memory"] == "12Gi"
    assert changed_template(change.reversed(), there) == former


def test_a_mounted_shm_goes_as_it_came_and_another_volume_is_left_alone() -> None:
    added = ConfigChange("pod-spec", "/dev/shm", None, "2Gi")
    there = changed_template(added, template(shm=None))
    assert not isinstance(there, NotChanged)
    assert changed_template(added.reversed(), there) == template(shm=None)
    unlimited = template()
    unlimited["spec"]["volumes"][0]["emptyDir"] = {"medium": "Memory"}
    shm = EditPodSpec(SetSharedMemory("8Gi"))
    change = of(shm, unlimited)
    assert change == ConfigChange("pod-spec", "/dev/shm", "unlimited", "8Gi")
    there = changed_template(change, unlimited)
    assert not isinstance(there, NotChanged)
    assert changed_template(change.reversed(), there) == unlimited
    host = template()
    host["spec"]["volumes"][0] = {"name": "shm", "hostPath": {"path": "/dev/shm"}}
    assert isinstance(of(shm, host), NotChanged)


def test_service_links_and_a_startup_probe_are_changes_of_the_pod() -> None:
    assert of(EditPodSpec(SetServiceLinks(enabled=False)), template()) == ConfigChange(
        "pod-spec", "enableServiceLinks", None, "false"
    )
    change = of(EditPodSpec(SetStartupProbe("/health", 8000, 10, 5, 60)), template())
    assert isinstance(change, ConfigChange)
    there = changed_template(change, template())
    assert not isinstance(there, NotChanged)
    assert there["spec"]["containers"][0]["startupProbe"] == {
        "httpGet": {"path": "/health", "port": 8000}, "periodSeconds": 10, "timeoutSeconds": 5, "failureThreshold": 60,
    }  # fmt: skip


@pytest.mark.parametrize("flag", [SetFlag("trust_remote_code", True), SetFlag("port", 8001)])
def test_what_brings_in_code_or_goes_with_a_service_is_not_set_by_itself(flag: SetFlag) -> None:
    assert of(flag, template()) == NotChanged("a person does it")


@pytest.mark.parametrize(
    ("lever", "cause", "variant", "reading"),
    [
        (
            "fix-argument",
            "bad-config",
            "argument",
            {"log_invalid_config": "Please pass `trust_remote_code=True` to allow it."},
        ),
        (
            "fix-argument",
            "bad-config",
            "argument",
            {"log_invalid_config": "ValueError: LoRA rank 600 is greater than max_lora_rank 16."},
        ),
        (
            "fix-argument",
            "bad-config",
            "pod",
            {"log_port_in_use": "[Errno 98] address already in use"},
        ),
        (
            "host-memory-limit",
            "host-oom",
            "node-eviction",
            {"pod_evicted": "The node was low on resource: ephemeral-storage."},
        ),
        (
            "host-memory-limit",
            "host-oom",
            "node-eviction",
            {"pod_evicted": 'Usage of EmptyDir volume "cache" exceeds the limit "1Gi".'},
        ),
        (
            "pod-spec",
            "bad-config",
            "pod",
            {"log_broken_install": "RuntimeError: No CUDA GPUs are available"},
        ),
    ],
)
def test_what_a_lever_leaves_to_a_person_is_taken_by_no_machine(
    lever: str, cause: CauseName, variant: str, reading: dict[str, str]
) -> None:
    readings: dict[str, Any] = {name: (1.0, said) for name, said in reading.items()}
    answer = ask(lever, cause, variant, **readings)
    assert isinstance(answer, Proposal)
    assert of(answer.change, template()) == NotChanged("a person does it")


def test_an_absent_shm_is_mounted_in_the_engine_alone() -> None:
    found = changed_template(ConfigChange("pod-spec", "/dev/shm", None, "2Gi"), template(shm=None))
    assert not isinstance(found, NotChanged)
    engine, other = found["spec"]["containers"]
    assert engine["volumeMounts"] == [{"name": "shm", "mountPath": "/dev/shm"}]
    assert "volumeMounts" not in other


def test_a_switch_is_turned_off_and_a_variable_is_set() -> None:
    assert setting_change("enable_prefix_caching", False, template(), {}) == ConfigChange(
        "argument", "--enable-prefix-caching", None, "false"
    )
    assert setting_change("VLLM_CPU_KVCACHE_SPACE", "8", template(), {}) == ConfigChange(
        "environment", "VLLM_CPU_KVCACHE_SPACE", None, "8"
    )
    assert isinstance(setting_change("max_num_seqs", None, template(), {}), NotChanged)
