"""A running engine's settings as its twin takes them, from its window alone: for trials that nobody
gives arguments to.
"""

from __future__ import annotations

from barostat.catalog.settings.defaults import BLOCK_TOKENS, SMALL_CARD_SEQS, SMALL_CARD_STEP_TOKENS
from barostat.catalog.vllm_versions import DEFAULT_VERSION
from barostat.core.errors import InputError
from barostat.core.window import Window
from barostat.judge.observed.settings import observed_settings
from barostat.twin.settings import KvGroup, Settings, for_version


def twin_settings(window: Window) -> Settings | None:
    """The engine's settings as its twin takes them, with one kind of attention; None where its pool
    was not seen.
    """
    seen = observed_settings(window)
    values = seen.values
    blocks, block = values.get("kv_blocks"), values.get("block_size", BLOCK_TOKENS)
    if not isinstance(blocks, int) or not isinstance(block, int):
        return None

    def whole(name: str, otherwise: int) -> int:
        found = values.get(name)
        return found if isinstance(found, int) and not isinstance(found, bool) else otherwise

    longest = whole("max_model_len", max(1, (blocks - 1) * block))
    budget = whole("max_num_batched_tokens", SMALL_CARD_STEP_TOKENS)
    active, watermark = values.get("max_num_active_seqs"), values.get("watermark")
    draft = Settings(
        kv_blocks=blocks,
        groups=(KvGroup(block),),
        max_model_len=longest,
        max_num_seqs=whole("max_num_seqs", min(SMALL_CARD_SEQS, budget)),
        max_num_batched_tokens=budget,
        max_num_active_seqs=active if isinstance(active, int) else None,
        watermark_ratio=float(watermark) if isinstance(watermark, int | float) else 0.0,
        prefix_caching=values.get("enable_prefix_caching") is not False,
        chunked_prefill=values.get("enable_chunked_prefill") is not False,
        async_scheduling=values.get("async_scheduling") is not False,
    )
    try:
        return for_version(draft, str(window.version or DEFAULT_VERSION))
    except InputError:
        return None
