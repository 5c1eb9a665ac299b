"""A plan as data: the versioned document."""

from __future__ import annotations

from typing import Any

from barostat.core.limits import API_VERSION
from barostat.io.input_files.limits_file import as_document
from barostat.judge.sizing.answer import CapacityAnswer
from barostat.kv.estimate import Estimate


def plan_json(answer: CapacityAnswer) -> dict[str, Any]:
    """The plan as the versioned JSON document."""
    found = answer.plan
    pool = found.pool
    return {
        "apiVersion": API_VERSION,
        "kind": "CapacityPlan",
        "model": found.request.model_name,
        "architecture": found.request.model.name,
        "architectureKnown": found.request.model.known,
        "engineVersion": str(found.request.version),
        "gpu": found.request.card.name if found.request.card is not None else None,
        "gpus": found.gpus,
        "maxModelLen": found.flags.max_model_len,
        "kvBytesPerToken": round(found.kv_bytes_per_token, 1),
        "kvBytesPerTokenPerGpu": round(found.kv_bytes_per_token_per_gpu, 1),
        "weightsBytesPerGpu": int(found.weights_bytes),
        "availableKvBytesPerGpu": int(found.available.value),
        "numBlocks": pool.blocks,
        "blockSize": pool.block_tokens,
        "kvCacheTokens": pool.tokens,
        "kvCacheTokensRange": [found.low.tokens, found.high.tokens],
        "maxConcurrency": round(pool.concurrency, 4) if pool.concurrency != float("inf") else None,
        "longestThatFits": pool.longest_tokens,
        "fits": answer.starts,
        "refusal": answer.why_not or None,
        "mayNotStart": answer.doubt or None,
        "changesThatFit": [
            {"arguments": c.arguments, "cost": c.cost, "kvCacheTokens": c.tokens}
            for c in answer.changes
        ],
        "limits": as_document(answer.derived.limits)["spec"],
        "because": dict(answer.derived.limits.because),
        "separatePools": list(answer.derived.pools),
        "estimates": [_estimate(e) for e in _estimates(answer)],
        "predictionOffBy": list(found.off_by),
        "assumptions": list(found.assumptions),
    }


def _estimates(answer: CapacityAnswer) -> list[Estimate]:
    found = answer.plan
    parts = [*(found.spent.parts if found.spent is not None else ()), found.available]
    return [*([found.total] if found.total is not None else []), *parts]


def _estimate(found: Estimate) -> dict[str, Any]:
    return {
        "name": found.name,
        "value": round(found.value),
        "low": round(found.low),
        "high": round(found.high),
        "source": found.source,
    }
