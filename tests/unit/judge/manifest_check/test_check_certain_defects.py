"""Certain defects that whole manifests have, and what looks like them and is none."""

from __future__ import annotations

import pytest

from barostat.io.manifests.read import document_of
from barostat.judge.manifest_check.check import check
from barostat.lint.rule import Finding

_OWN = "vllm/vllm-openai:v0.32.0"
_RUNTIME = """
kind: ServingRuntime
apiVersion: serving.kserve.io/v1alpha1
metadata: {{name: r}}
spec:
  containers:
  - name: kserve-container
    image: vllm/vllm-openai:{tag}
    args: [{first}]
    readinessProbe: {{httpGet: {{path: /health, port: 8000}}, failureThreshold: 1}}
---
kind: InferenceService
apiVersion: serving.kserve.io/v1beta1
metadata: {{name: a}}
spec:
  predictor:
    model:
      runtime: {runtime}
      modelFormat: {{name: huggingface}}
      storageUri: pvc://claim/model
      args: [{second}]
"""
_SCALED = """
{{kind: PersistentVolumeClaim, apiVersion: v1, metadata: {{name: models}}, spec: {{accessModes: [ReadWriteOnce]}}}}
---
{{kind: Deployment, apiVersion: apps/v1, metadata: {{name: a}}, spec: {{replicas: 1, selector: {{}}, template: {{spec: {{
  volumes: [{{name: c, persistentVolumeClaim: {{claimName: models}}}}], containers: [{{name: a,
  image: "vllm/vllm-openai:v0.32.0", args: [--model, Qwen/Qwen3-8B], volumeMounts: [{{name: c,
  mountPath: /root/.cache/huggingface}}]}}]}}}}}}}}
---
{{kind: ScaledObject, apiVersion: keda.sh/v1alpha1, metadata: {{name: s}}, spec: {{scaleTargetRef:
  {{name: a}}, maxReplicaCount: {most}, triggers: []}}}}
"""


def _found(text: str, rule: str, file: str = "a.yaml") -> list[Finding]:
    return [one for one in check([document_of(text, file)]).findings if one.rule == rule]


def _service(first: str = "", second: str = "", runtime: str = "r", tag: str = "v0.32.0") -> str:
    return _RUNTIME.format(first=first, second=second, runtime=runtime, tag=tag)


def test_a_service_is_judged_with_the_runtime_beside_it() -> None:
    text = _service('"--model", "/mnt/models"', '"--swap-space", "4"')
    assert len(_found(text, "unknown-flag")) == 1
    assert len(_found(text, "probe-too-strict")) == 1
    assert len(_found(_service(tag="latest"), "floating-tag")) == 1


def test_without_its_runtime_the_version_of_a_service_is_not_known() -> None:
    assert _found(_service("", '"--swap-space", "4"', runtime="another-vllm"), "unknown-flag") == []


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ("", "", "serves its default model"),
        ("", '"--model", "/mnt/model"', "/mnt/model does not exist"),
        ('"--model", "/mnt/models"', "", ""),
        ('"--model", "/mnt/models/llama"', "", ""),
        ("", '"--model=/mnt/models"', ""),
        ("", '"--config", "/etc/vllm.yaml"', ""),
    ],
)
def test_what_kserve_fetches_has_to_be_read(first: str, second: str, said: str) -> None:
    found = _found(_service(first, second), "stored-model-not-read")
    assert [said in one.message for one in found] == ([True] if said else [])


@pytest.mark.parametrize(
    ("container", "count"),
    [
        (f"{{name: a, image: {_OWN}}}", 1),
        (f"{{name: a, image: {_OWN}, args: [--model, Qwen/Qwen3-8B]}}", 0),
        (f"{{name: a, image: {_OWN}, args: [Qwen/Qwen3-8B]}}", 0),
        (f"{{name: a, image: {_OWN}, command: [sleep, infinity]}}", 0),
        ("{name: a, image: example/router}", 0),
    ],
)
def test_an_engine_without_arguments_serves_the_default_model(container: str, count: int) -> None:
    text = f"{{kind: Deployment, metadata: {{name: a}}, spec: {{selector: {{}}, template: {{spec: {{containers: [{container}]}}}}}}}}"
    assert len(_found(text, "no-model-named")) == count
    fleet = text.replace("kind: Deployment", "kind: RayClusterFleet")
    assert _found(fleet, "no-model-named") == []
    patch = text.replace("selector: {}, ", "")
    assert _found(patch, "no-model-named") == []


@pytest.mark.parametrize(("most", "count"), [(4, 1), (1, 0)])
def test_an_autoscaler_makes_replicas_that_share_a_claim(most: int, count: int) -> None:
    found = _found(_SCALED.format(most=most), "claim-of-one-node")
    assert [("up to 4 replicas" in one.message) for one in found] == [True] * count


@pytest.mark.parametrize(
    ("image", "arguments", "count"),
    [
        (_OWN, "--temperature 0.7", 1),
        ("vllm/vllm-openai:latest", "--temperature 0.7", 1),
        ("vllm/vllm-openai:v0.99.0", "--temperature 0.7", 0),
        ("example/vllm-fork:v0.32.0", "--temperature 0.7", 0),
        (_OWN, "--max-model-len 8192", 0),
        (_OWN, "--enable-prefix-cach", 0),
    ],
)
def test_an_argument_that_no_version_has(image: str, arguments: str, count: int) -> None:
    text = f"docker run --gpus all {image} --model Qwen/Qwen3-8B {arguments}\n"
    assert len(_found(text, "misspelled-flag", "run.sh")) == count


@pytest.mark.parametrize(
    ("token", "count"),
    [("hf_xxxxxxxx", 1), ("your_token_here", 1), ("${HF_TOKEN}", 0), ("", 0)],
)
def test_a_placeholder_is_no_token(token: str, count: int) -> None:
    text = f"services: {{a: {{image: {_OWN}, command: --model Qwen/Qwen3-8B, environment: {{HF_TOKEN: '{token}'}}}}}}"
    assert len(_found(text, "placeholder-token")) == count


@pytest.mark.parametrize(
    ("arguments", "gpu", "said"),
    [
        ("--enforce-eager", "", ["eager mode"]),
        ("--quantization awq", "", ["forces the plain awq kernels"]),
        ("--quantization awq_marlin", "", []),
        ("--quantization awq", "Tesla-T4", []),
        ("--quantization fp8", "", []),
    ],
)
def test_settings_that_make_steps_slow(arguments: str, gpu: str, said: list[str]) -> None:
    words = ", ".join(f'"{word}"' for word in arguments.split())
    text = (
        f"{{kind: Pod, metadata: {{name: a}}, spec: {{nodeSelector: {{nvidia.com/gpu.product: '{gpu}'}}, "
        f"containers: [{{name: a, image: {_OWN}, args: [--model, a/b, {words}]}}]}}}}"
    )
    found = [one.message for one in _found(text, "slow-setting")]
    assert [message for message in found if not any(part in message for part in said)] == []
    assert len(found) == len(said)


@pytest.mark.parametrize(
    ("resources", "count"),
    [
        ('{limits: {nvidia.com/gpu: "2"}}', 1),
        ('{limits: {nvidia.com/gpu: "1"}}', 0),
        ('{limits: {nvidia.com/gpu: "2", rdma/ib: "1"}}', 0),
    ],
)
def test_tensor_parallelism_over_nodes_waits_for_their_network(resources: str, count: int) -> None:
    text = (
        "{kind: RayCluster, metadata: {name: a}, spec: {workerGroupSpecs: [{replicas: 1}], headGroupSpec: {template: {spec: "
        f"{{containers: [{{name: a, image: example/ray:1, resources: {resources}, "
        "args: [vllm, serve, a/b, --tensor-parallel-size, '4']}]}}}}}"
    )
    assert len(_found(text, "slow-setting")) == count


def test_an_image_that_compose_builds_is_pulled_from_nowhere() -> None:
    service = "image: my-vllm:latest, command: vllm serve a/b"
    assert len(_found(f"services: {{a: {{{service}}}}}", "floating-tag")) == 1
    assert _found(f"services: {{a: {{build: ., {service}}}}}", "floating-tag") == []


@pytest.mark.parametrize(("extra", "count"), [("", 1), (" --nnodes 2 --node-rank 0", 0)])
def test_over_several_nodes_there_is_no_custom_all_reduce(extra: str, count: int) -> None:
    text = (
        "services: {a: {image: example/vllm:1, environment: [PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True], "
        f"command: vllm serve a/b --tensor-parallel-size 2{extra}}}}}"
    )
    assert len(_found(text, "expandable-segments")) == count


@pytest.mark.parametrize(
    ("words", "count"),
    [
        ('["/bin/bash", "-lc", "--", "vllm serve a/b"]', 0),
        ('["/bin/bash", "-lc", "--", "vllm serve", "a/b"]', 1),
        ('["sh", "-c", "vllm serve", "a/b"]', 1),
    ],
)
def test_two_dashes_end_the_options_of_a_shell(words: str, count: int) -> None:
    text = f"{{kind: Pod, metadata: {{name: a}}, spec: {{containers: [{{name: a, image: {_OWN}, command: {words}}}]}}}}"
    assert len(_found(text, "shell-drops-arguments")) == count


@pytest.mark.parametrize(("tag", "count"), [("latest", 1), ("", 0)])
def test_values_with_an_empty_tag_leave_it_to_their_chart(tag: str, count: int) -> None:
    text = (
        f"image: {{repository: vllm/vllm-openai, tag: '{tag}', command: [vllm, serve, Qwen/Qwen3-8B]}}\n"
        f"engine: {{image: 'vllm/vllm-openai:{tag}', command: [vllm, serve, Qwen/Qwen3-8B]}}\n"
    )
    assert len(_found(text, "floating-tag", "values.yaml")) >= count
    assert bool(_found(text, "floating-tag", "values.yaml")) is bool(count)
