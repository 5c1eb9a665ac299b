"""KServe LLMInferenceService: arguments, a preset's variable, a configuration behind it."""

from __future__ import annotations

import copy

from tests.support.kind_samples import FLAG, NEW, OLD, Sample, container, head, replica_set

from barostat.core.change import ConfigChange
from barostat.judge.manifest_edit.source_patch import own_patch

_LABELS = {
    "app.kubernetes.io/name": "chat",
    "app.kubernetes.io/part-of": "llminferenceservice",
    "llm-d.ai/role": "decode",
}
_DEPLOYMENT = ("deployments", {"kind": "Deployment", "metadata": {"name": "chat-kserve"}})
CHANGE = ConfigChange("argument", FLAG, OLD, NEW)
SAMPLE = Sample(
    {**head("LLMInferenceService"), "spec": {"template": {"containers": [container()]}}},
    _LABELS,
    (_DEPLOYMENT, replica_set()),
    {"spec": {"template": {"containers": [container([FLAG, NEW])]}}},
    role="decode",
    says="spec.router.route",
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
