"""What an LLMInferenceService says of its engine beside arguments: the model, parallel sizes,
VLLM_ADDITIONAL_ARGS.
"""

from __future__ import annotations

from barostat.io.manifests.read import document_of
from barostat.judge.manifest_check.check import check
from barostat.judge.manifest_check.scene import scene_of

HEAD = """kind: LLMInferenceService
apiVersion: serving.kserve.io/v1alpha1
metadata: {name: a}
spec:
  model: {uri: "hf://Qwen/Qwen3-32B", name: qwen}
"""


def told(spec: str) -> list[tuple[int, str]]:
    found = check([document_of(HEAD + spec, "a.yaml")]).findings
    return [(one.place.line, one.rule) for one in found if one.persona == "ordinary"]


def test_cards_are_held_against_the_parallel_sizes() -> None:
    container = (
        "  template: {containers: [{name: main, image: 'vllm/vllm-openai:v0.32.0', "
        "%sresources: {limits: {nvidia.com/gpu: '4'}}}]}\n"
    )
    for args in ("", "args: [--max-model-len, '4096'], "):
        assert told("  parallelism: {tensor: 4}\n" + container % args) == []
        assert told("  parallelism: {tensor: 8}\n" + container % args) == [
            (6, "tensor-parallel-mismatch")
        ]
        assert told(container % args) == []


def test_prefill_has_sizes_of_its_own() -> None:
    prefill = (
        "  prefill:\n    parallelism: {tensor: 2}\n    template: {containers: [{name: main, "
        "resources: {limits: {nvidia.com/gpu: '1'}}}]}\n"
    )
    assert told("  parallelism: {tensor: 1}\n" + prefill) == [(8, "tensor-parallel-mismatch")]


def test_additional_arguments_are_read_where_they_stand() -> None:
    env = "[{name: VLLM_ADDITIONAL_ARGS, value: '--max-num-seqs 64 --gpu-memory-utilization 1.5'}]"
    spec = "  template:\n    containers:\n    - name: main\n      env: " + env + "\n"
    scene = scene_of([document_of(HEAD + spec, "a.yaml")])
    (engine,) = scene.engines
    assert (engine.number("max_num_seqs"), engine.complete) == (64, False)
    assert engine.model is not None
    assert engine.model.text == "Qwen/Qwen3-32B"
    assert told(spec) == [(9, "bad-flag-value")]


def test_a_command_of_its_own_is_all_there_is() -> None:
    spec = (
        "  parallelism: {tensor: 8}\n  template: {containers: [{name: main, image: a/b, "
        "command: [sglang, serve]}]}\n"
    )
    assert scene_of([document_of(HEAD + spec, "a.yaml")]).engines == ()
    assert (
        scene_of(
            [document_of(HEAD + spec.replace("command: [sglang, serve]", "args: [--x]"), "a.yaml")]
        ).engines
        == ()
    )
