"""The plan of an engine as a manifest starts it."""

from __future__ import annotations

import pytest

from barostat.io.manifests.read import document_of
from barostat.judge.manifest_check.check import check
from barostat.judge.manifest_check.scene import scene_of


@pytest.mark.parametrize(("pool", "fits"), [("40G", False), ("4G", True)])
def test_a_pool_that_a_flag_sets_leaves_nothing_where_the_card_is_smaller(
    pool: str, fits: bool
) -> None:
    text = f"vllm serve Qwen/Qwen3-8B --max-model-len 8192 --kv-cache-memory-bytes {pool}"
    (engine,) = scene_of([document_of(text, "a.sh")], gpu="L4").engines
    assert engine.planned is not None
    assert (engine.planned.fits, engine.planned.nothing_left) == (fits, not fits)
    assert ("out of memory" in engine.planned.sentence) is not fits
    assert engine.planned.sure


@pytest.mark.parametrize(
    ("image", "sure"),
    [
        ("", False),
        ("image: vllm/vllm-openai:v0.32.0", True),
        ("image: vllm/vllm-openai:latest", True),
    ],
)
def test_what_only_newer_versions_refuse_is_not_sure_of_one_that_nobody_tells(
    image: str, sure: bool
) -> None:
    """4 GiB hold 32,768 tokens, of which 0.29 and newer leave out one block."""
    text = (
        "{kind: Model, apiVersion: kubeai.org/v1, metadata: {name: a}, spec: {engine: "
        "VLLM, url: 'hf://meta-llama/Llama-3.1-8B-Instruct',"
        f" args: [--max-model-len=32768], env: {{VLLM_CPU_KVCACHE_SPACE: '4'}}, {image}}}}}"
    )
    found = check([document_of(text, "a.yaml")]).findings
    (one,) = [one for one in found if one.rule == "pool-too-small"]
    assert (one.severity == "error") is sure
    assert one.message.startswith("would not start" if sure else "may not start")
