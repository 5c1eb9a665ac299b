"""A share beside a told pool is a note, and nothing takes it out: it decides whether the engine
starts beside others.
"""

from __future__ import annotations

from barostat.io.manifests.read import document_of
from barostat.judge.manifest_check.check import check


def test_the_share_is_noted_and_stays() -> None:
    text = "vllm serve Qwen/Qwen3-8B --gpu-memory-utilization 0.5 --kv-cache-memory-bytes 20G\n"
    (found,) = [
        one
        for one in check([document_of(text, "a.sh")]).findings
        if one.rule == "ignored-utilization"
    ]
    assert (found.severity, found.edits) == ("note", ())
    assert "free at start" in found.message
