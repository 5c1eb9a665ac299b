"""RayService: a setting of `serveConfigV2` is changed in its line."""

from __future__ import annotations

import copy
from typing import Any

from tests.support.kind_samples import FLAG, NEW, OLD, Sample, container, head

from barostat.core.change import ConfigChange
from barostat.judge.manifest_edit.source_patch import own_patch
from barostat.platform.workload import declared_args, workload_of
from barostat.platform.workloads.ray_service import KIND

TEXT = """\
applications:
- name: llms  # one application
  import_path: ray.serve.llm:build_openai_app
  args:
    llm_configs:
    - model_loading_config: {model_id: m}
      deployment_config:
        autoscaling_config:
          min_replicas: 2
      engine_kwargs:
        # the pool was measured with these
        max_num_seqs: 64    # from the load test
        dtype: "bfloat16"
        compilation_config: {level: 3}
      runtime_env: {}
"""
CHANGED = TEXT.replace("max_num_seqs: 64 ", "max_num_seqs: 16 ")
_GROUP = {"replicas": 1, "template": {"spec": {"containers": [container([], name="ray")]}}}
_RUNNING = {"status": "RUNNING", "serveDeploymentStatuses": {"LLMServer:m": {"status": "HEALTHY"}}}
SAMPLE = Sample(
    {
        **head("RayService"),
        "spec": {"serveConfigV2": TEXT, "rayClusterConfig": {"workerGroupSpecs": [_GROUP]}},
        "status": {"activeServiceStatus": {"applicationStatuses": {"llms": _RUNNING}}},
    },
    {"ray.io/cluster": "chat-abcde", "ray.io/node-type": "worker"},
    (("rayclusters", {**head("RayCluster", "chat-abcde"), "spec": {}}),),
    {"spec": {"serveConfigV2": CHANGED}},
)


def _patched(text: str, change: ConfigChange) -> str:
    item = copy.deepcopy(SAMPLE.item)
    item["spec"]["serveConfigV2"] = text
    found = own_patch(SAMPLE.kind, item, change)
    assert found is not None
    written = found.document["spec"]["serveConfigV2"]
    assert isinstance(written, str)
    return written


def test_a_new_setting_stands_behind_the_others_of_its_block() -> None:
    change = ConfigChange("argument", "--watermark", None, "0.05")
    wanted = TEXT.replace("{level: 3}\n", "{level: 3}\n        watermark: 0.05\n")
    assert _patched(TEXT, change) == wanted


def test_quotes_and_line_ends_stay() -> None:
    change = ConfigChange("argument", "--dtype", "bfloat16", "half")
    assert _patched(TEXT, change) == TEXT.replace('"bfloat16"', '"half"')
    ends = TEXT.replace("\n", "\r\n")
    change = ConfigChange("argument", FLAG, OLD, NEW)
    assert _patched(ends, change) == CHANGED.replace("\n", "\r\n")


def test_one_replica_is_an_outage() -> None:
    item = copy.deepcopy(SAMPLE.item)
    item["spec"]["serveConfigV2"] = TEXT.replace("min_replicas: 2", "num_replicas: 1")
    assert "outage" in SAMPLE.kind.why_not(item)


def test_another_number_of_replicas_is_written_in_its_line() -> None:
    change = ConfigChange("replicas", "replicas", "2", "3")
    found = own_patch(SAMPLE.kind, SAMPLE.item, change, replicas=2)
    assert found is not None
    wanted = TEXT.replace("min_replicas: 2", "min_replicas: 3")
    assert found.document["spec"] == {"serveConfigV2": wanted}
    item = {**SAMPLE.item, "spec": {"serveConfigV2": "applications: []\n"}}
    assert own_patch(SAMPLE.kind, item, change) is None


def test_two_engines_in_one_text_are_not_told_apart() -> None:
    item = copy.deepcopy(SAMPLE.item)
    item["spec"]["serveConfigV2"] = TEXT + TEXT.removeprefix("applications:\n")
    assert "2 blocks engine_kwargs" in SAMPLE.kind.why_not(item)


def test_the_pod_belongs_to_the_service_that_declares_its_engine() -> None:
    owned: dict[str, Any] = {}
    above: list[dict[str, Any]] = []
    for plural, item in SAMPLE.objects():
        made = copy.deepcopy(item)
        made["metadata"]["uid"] = plural
        if above:
            made["metadata"]["ownerReferences"] = [
                {
                    "kind": above[-1]["kind"],
                    "name": above[-1]["metadata"]["name"],
                    "controller": True,
                }
            ]
        above.append(made)
        owned[plural] = {"items": [made]}
    engine = above[-1]
    assert declared_args(owned, engine) == ()
    engine["spec"]["containers"] = [{"name": "ray-worker", "args": ["ray start --block"]}]
    found = workload_of(owned, engine)
    assert found is not None
    assert (found.kind, found.name) == ("RayService", "chat")
    assert "--max-num-seqs=64" in declared_args(owned, engine)
    del owned["rayservices"], engine["metadata"]["ownerReferences"]
    assert declared_args(owned, engine) == ()


def test_a_head_without_cards_runs_no_engine() -> None:
    spec = {"containers": [{"name": "ray-head", "resources": {}}]}
    head_pod = {"metadata": {"labels": {"ray.io/node-type": "head"}}, "spec": spec}
    assert not SAMPLE.kind.answers(head_pod)
    spec["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": "1"}}
    assert SAMPLE.kind.answers(head_pod)
    assert SAMPLE.kind.answers({"metadata": {"labels": {"ray.io/node-type": "worker"}}})


def test_it_has_rolled_when_ray_serve_says_so_of_the_present_text() -> None:
    item = copy.deepcopy(SAMPLE.item)
    assert KIND.rolled_out(item, {})
    item["metadata"]["generation"] = 2
    assert not KIND.rolled_out(item, {})
    item["status"]["observedGeneration"] = 2
    assert KIND.rolled_out(item, {})
    (application,) = item["status"]["activeServiceStatus"]["applicationStatuses"].values()
    application["serveDeploymentStatuses"]["LLMServer:m"]["status"] = "UPDATING"
    assert not KIND.rolled_out(item, {})
    assert not KIND.rolled_out({**item, "status": {}}, {})
