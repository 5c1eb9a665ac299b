"""Engines of a RayService: each by itself, in block or in braces, with its model and its card."""

from __future__ import annotations

from barostat.io.manifests.read import document_of
from barostat.judge.manifest_check.check import check
from barostat.judge.manifest_check.scene import scene_of

TWO = """kind: RayService
apiVersion: ray.io/v1
metadata: {name: r}
spec:
  serveConfigV2: |
    applications:
    - name: llms
      args:
        llm_configs:
        - model_loading_config:
            model_id: small
            model_source: Qwen/Qwen2.5-7B-Instruct
          engine_kwargs:
            max_num_seqs: 512
            max_model_len: 131072
          accelerator_type: L4
        - engine_kwargs: {max_num_batched_tokens: 256, "max_model_len": 8192, dtype: bf16}
          model_loading_config: {model_id: Qwen/Qwen3-8B}
"""


def test_each_configuration_is_an_engine() -> None:
    first, second = scene_of([document_of(TWO, "a.yaml")]).engines
    assert (first.model and first.model.text, first.card_hint, first.number("max_num_seqs")) == (
        "Qwen/Qwen2.5-7B-Instruct",
        "L4",
        512,
    )
    assert (
        second.model and second.model.text,
        second.card_hint,
        second.number("max_model_len"),
    ) == ("Qwen/Qwen3-8B", "", 8192)
    assert (first.place.line, second.place.line) == (13, 17)


def test_arguments_of_two_are_not_held_against_each_other() -> None:
    found = check([document_of(TWO, "a.yaml")]).findings
    told = [
        (one.place.line, one.place.column, one.rule) for one in found if one.persona == "ordinary"
    ]
    assert "flags-contradict" not in [rule for *_, rule in told]
    assert (15, 13, "length-above-model") in told
    assert (17, 79, "bad-flag-value") in told


def test_a_model_from_a_bucket_is_not_known_by_its_id() -> None:
    bucket = TWO.replace(
        "model_source: Qwen/Qwen2.5-7B-Instruct", "model_source: {bucket_uri: s3://a}"
    )
    assert scene_of([document_of(bucket, "a.yaml")]).engines[0].model is None
