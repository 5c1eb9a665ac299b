"""A change that is as its incident left it can be taken back and verified; one that somebody has
changed since cannot.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.support.planning_scenes import planned, scene

from barostat.core.change import ConfigChange
from barostat.judge.manifest_edit.config_change import digest
from barostat.judge.mitigation.standing_change import made_else

PROBE = {"failureThreshold": 90, "httpGet": {"path": "/health", "port": 8000}, "periodSeconds": 10}
STORED = {**PROBE, "httpGet": {**PROBE["httpGet"], "scheme": "HTTP"}, "successThreshold": 1}  # type: ignore[dict-item]


def said(change: ConfigChange, container: dict[str, Any] | None = None, **spec: Any) -> str:
    seen = scene()
    seen.template["spec"]["containers"][0].update(container or {})
    seen.template["spec"].update(spec)
    return made_else(
        seen, replace(planned(scene(), lever="max-model-len=2048").plan, change=change)
    )


def memory(limit: str, request: str) -> dict[str, Any]:
    return {"resources": {"limits": {"memory": limit}, "requests": {"memory": request}}}


@pytest.mark.parametrize(
    ("change", "container"),
    [
        (
            ConfigChange("argument", "--max-model-len", None, "4k"),
            {"args": ["m", "--max-model-len", "4000"]},
        ),
        (
            ConfigChange("argument", "--enable-prefix-caching", "false", "true"),
            {"args": ["m", "--enable-prefix-caching"]},
        ),
        (ConfigChange("argument", "--swap-space", "4", None), {"args": ["m"]}),
        (
            ConfigChange("environment", "VLLM_CPU_KVCACHE_SPACE", "4", "8"),
            {"env": [{"name": "VLLM_CPU_KVCACHE_SPACE", "value": "8"}]},
        ),
        (ConfigChange("pod-spec", "memory", "1Gi", "4096Mi"), memory("4Gi", "4Gi")),
        (ConfigChange("pod-spec", "memory", "1Gi", "4Gi (request 2048Mi)"), memory("4Gi", "2Gi")),
        (
            ConfigChange("pod-spec", "startupProbe", None, json.dumps(PROBE)),
            {"startupProbe": STORED},
        ),
        (ConfigChange("pod-spec", "enableServiceLinks", None, "true"), None),
        (ConfigChange("replicas", "replicas", "2", "3"), None),
        (ConfigChange("limits", "request.maxOutputTokens", None, "300"), None),
    ],
)
def test_it_is_as_it_was_left_however_it_is_written(
    change: ConfigChange, container: dict[str, Any] | None
) -> None:
    assert said(change, container, enableServiceLinks=True) == ""


@pytest.mark.parametrize(
    ("change", "container", "now"),
    [
        (
            ConfigChange("argument", "--max-num-seqs", "64", "16"),
            {"args": ["m", "--max-num-seqs", "32"]},
            "32 now, and vllm-1 left it at 16",
        ),
        (
            ConfigChange("argument", "--swap-space", "4", None),
            {"args": ["m", "--swap-space", "8"]},
            "8 now, and vllm-1 left it at absent",
        ),
        (
            ConfigChange("environment", "VLLM_X", "4", "8"),
            {"env": []},
            "absent now, and vllm-1 left it at 8",
        ),
        (
            ConfigChange("pod-spec", "memory", "1Gi", "4Gi"),
            memory("6Gi", "6Gi"),
            "6Gi now, and vllm-1 left it at 4Gi",
        ),
        (
            ConfigChange(
                "pod-spec", "startupProbe", None, json.dumps({**PROBE, "periodSeconds": 5})
            ),
            {"startupProbe": STORED},
            "now, and",
        ),
    ],
)
def test_what_somebody_made_of_it_is_told(
    change: ConfigChange, container: dict[str, Any], now: str
) -> None:
    assert now in said(change, container)


def test_a_former_revision_is_no_undo_of_what_was_deployed_since() -> None:
    seen = scene()
    done = replace(
        planned(scene(), lever="max-model-len=2048").plan,
        change=ConfigChange("revision", "revision", "2", "1"),
    )
    seen.home["metadata"]["annotations"] = {
        "barostat.dev/patched": f"vllm-1#{digest(seen.template)}"
    }
    assert made_else(seen, done) == ""
    seen.template["spec"]["containers"][0]["image"] = "vllm/vllm-openai:v0.33.0"
    assert (
        made_else(seen, done)
        == "the template is not as vllm-1 left it: somebody has changed it since"
    )
