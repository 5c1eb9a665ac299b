"""The plan of an engine as a manifest starts it."""

from __future__ import annotations

import pytest

from barostat.io.manifests.read import document_of
from barostat.judge.manifest_check.scene import scene_of


@pytest.mark.parametrize(("pool", "fits"), [("40G", False), ("4G", True)])
def test_a_pool_that_a_flag_sets_leaves_nothing_where_the_card_is_smaller(pool: str, fits: bool) -> None:
    text = f"vllm serve Qwen/Qwen3-8B --max-model-len 8192 --kv-cache-memory-bytes {pool}"
    (engine,) = scene_of([document_of(text, "a.sh")], gpu="L4").engines
    assert engine.planned is not None
    assert (engine.planned.fits, engine.planned.nothing_left) == (fits, not fits)
    assert ("out of memory" in engine.planned.sentence) is not fits
    assert engine.planned.sure
