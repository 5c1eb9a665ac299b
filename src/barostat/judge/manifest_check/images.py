"""What an image reference says: which engine it holds, of which version, and whether its tag moves.

Source: Docker Hub vllm/*, rocm/vllm*, public.ecr.aws/.../vllm, nvcr.io/nvidia/vllm (dated by year
and month), ghcr.io/llm-d/*.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from barostat.core.version import EngineVersion, parse_version

_OWN = re.compile(
    r"^vllm(?:-(?:openai|cpu|tpu|xpu|neuron|hpu|gaudi|rocm|openai-rocm|openai-cpu|cpu-env|cpu-release-repo|ci.*))?$"
)
_ROUTER = re.compile(
    r"router|gateway|proxy|operator|exporter|controller|webhook|bench|sidecar|grafana|sim\b",
    re.IGNORECASE,
)
_MOVES = (
    "",
    "latest",
    "nightly",
    "main",
    "master",
    "edge",
    "dev",
    "stable",
    "release",
    "latest-release",
    "rocm",
    "cpu",
    "openai",
)
_NO_REFERENCE = re.compile(r"[^\w.:/@+-]")
_DEFAULT = re.compile(r"\$\{[A-Za-z_]\w*:?[-=]([^{}$]*)\}")
"""What compose, Flux and shells put in where nobody sets the variable: `${TAG:-v0.32.0}`."""
_OTHER_DEVICE = re.compile(r"(?:^|[-_])(?:tpu|hpu|gaudi|neuron|ascend)(?:[-_]|$)")
_INNER = re.compile(r"vllm[_-]?v?(0\.\d+\.\d+)")


@dataclass(frozen=True, slots=True)
class ImageFacts:
    """`server`: its entry point is vLLM's server. `version` of the engine, None if the tag does
    not say. `floating`: the tag moves.

    `other_device`: built for an accelerator that is no GPU. `tagged`: there is one: an image of
    another name without is often a place to fill in (a kustomization, a pipeline).
    """

    server: bool
    version: EngineVersion | None
    floating: bool
    is_cpu: bool = False
    tagged: bool = False
    other_device: bool = False


def image_facts(reference: str) -> ImageFacts:
    """Return the facts in `registry/name:tag@digest`; a template, a variable or a `<placeholder>`
    in name or tag gives none.

    A variable is replaced by its default, but its tag is never reported as floating, because it can
    be overridden.
    """
    last = _DEFAULT.sub(r"\1", reference).rsplit("/", 1)[-1]
    if not last or _NO_REFERENCE.search(last):
        return ImageFacts("vllm" in reference.lower(), None, False)
    name, _, digest = last.partition("@")
    path, colon, tag = name.rpartition(":")
    if not colon:
        path, tag = name, ""
    base = path.lower()
    server = "vllm" in base and not _ROUTER.search(base)
    dated = re.search(r"\d{4}-?\d{2}-?\d{2}|[0-9a-f]{12,}|\d+\.\d+\.\d+", tag.lower()) is not None
    told = not digest and not dated and "${" not in reference
    floating = told and (
        tag.lower() in _MOVES or "nightly" in tag.lower() or tag.lower().startswith("latest")
    )
    version = None
    if server:
        inner = _INNER.search(tag)
        found = parse_version(inner[1] if inner else tag)
        if (
            found is not None
            and found.release[0] == 0
            and 4 <= found.release[1] < 100
            and (_OWN.match(base) or inner)
        ):
            version = found
    return ImageFacts(
        server,
        version,
        floating,
        "cpu" in base or "cpu" in tag.lower(),
        tagged=bool(tag),
        other_device=_OTHER_DEVICE.search(base) is not None,
    )
