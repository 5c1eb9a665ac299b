"""KServe LLMInferenceService: arguments, a preset's variable, a configuration behind it."""

from __future__ import annotations

import copy

from tests.support.kind_samples import (
    FLAG,
    NEW,
    OLD,
    Sample,
    container,
    deployment,
    head,
    replica_set,
)

from barostat.core.change import ConfigChange
from barostat.judge.manifest_edit.source_patch import own_patch
from barostat.platform.workloads.llm_inference_service import KIND

_LABELS = {
    "app.kubernetes.io/name": "chat",
    "app.kubernetes.io/part-of": "llminferenceservice",
    "llm-d.ai/role": "decode",
}
CHANGE = ConfigChange("argument", FLAG, OLD, NEW)
SAMPLE = Sample(
    {**head("LLMInferenceService"), "spec": {"template": {"containers": [container()]}}},
    _LABELS,
    (deployment("chat-kserve", _LABELS, container()), replica_set()),
    {"spec": {"template": {"containers": [container([FLAG, NEW])]}}},
    role="decode",
)


def test_a_presets_command_takes_arguments_out_of_a_variable() -> None:
    item = copy.deepcopy(SAMPLE.item)
    more = {"name": "HF_HOME", "value": "/cache"}
    written = {"name": "VLLM_ADDITIONAL_ARGS", "value": f"{FLAG} {OLD} --enforce-eager"}
    item["spec"]["template"] = {"containers": [{"name": "main", "env": [written, more]}]}
    found = own_patch(SAMPLE.kind, item, CHANGE)
    assert found is not None
    changed = {**written, "value": f"{FLAG} {NEW} --enforce-eager"}
    wanted = [{"name": "main", "env": [more, changed]}]
    assert found.document["spec"] == {"template": {"containers": wanted}}


def test_without_a_template_the_configuration_behind_it_is_changed() -> None:
    item = {**head("LLMInferenceService"), "spec": {"baseRefs": [{"name": "base"}]}}
    config = {"metadata": {"name": "base"}, "spec": copy.deepcopy(SAMPLE.item["spec"])}
    whole = SAMPLE.kind.with_held(item, config)
    found = own_patch(SAMPLE.kind, whole, CHANGE, held=SAMPLE.kind.held_in(item))
    assert found is not None
    assert found.document["kind"] == "LLMInferenceServiceConfig"
    assert found.document["metadata"]["name"] == "base"
    assert found.document["spec"] == (SAMPLE.patch or {})["spec"]


def test_the_scheduler_does_not_answer_for_an_engine() -> None:
    labels = {"app.kubernetes.io/component": "llminferenceservice-router-scheduler"}
    assert not SAMPLE.kind.answers({"metadata": {"labels": labels}})


def test_halves_and_groups_are_for_a_person() -> None:
    for key, says in (("prefill", "which of them is to change"), ("worker", "groups of pods")):
        item = copy.deepcopy(SAMPLE.item)
        item["spec"][key] = {"template": {"containers": [container()]}}
        assert says in SAMPLE.kind.why_not(item)


def test_a_variable_that_a_change_has_added_is_gone_once_it_is_taken_back() -> None:
    item = copy.deepcopy(SAMPLE.item)
    item["metadata"]["uid"] = "u"
    item["spec"]["template"]["containers"] = [{"name": "main"}]
    _, made = deployment("chat-kserve", _LABELS, container([]))
    made["metadata"]["ownerReferences"] = [{"uid": "u", "controller": True}]
    assert KIND.has_seen(item, {"deployments": [made]})
    engine = made["spec"]["template"]["spec"]["containers"][0]
    engine["env"] = [{"name": "VLLM_ADDITIONAL_ARGS", "value": "--enforce-eager"}]
    assert not KIND.has_seen(item, {"deployments": [made]})
