"""How large a model's weights are, and whether a start downloads them."""

from __future__ import annotations

import re

from barostat.lint.facts import Engine, Mount, Scene

_BILLIONS = re.compile(r"(?<![A-Za-z0-9.])(\d+(?:\.\d+)?)[bB](?![A-Za-z])")
_HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+")
USUAL_S = 90.0
"""Start-up time in addition to loading weights: imports, compilation, graphs."""
DOWNLOAD_BYTES_PER_S = 0.3e9
"""Of a download from the hub, as clusters usually see it; some are five times as fast."""
DEFAULT_CACHE = "/root/.cache/huggingface"


def weights_bytes(engine: Engine) -> float:
    """Return the bytes of the checkpoint: as planned, or by the number of parameters in the model's
    name; 0 where nothing says.
    """
    if engine.planned is not None and engine.planned.weights_bytes:
        return engine.planned.weights_bytes * engine.ranks
    name = engine.model.text.rsplit("/", 1)[-1] if engine.model is not None else ""
    found = _BILLIONS.findall(name)
    per_parameter = (
        0.6
        if re.search(r"awq|gptq|int4|4bit|w4a16|nvfp4|mxfp4", name, re.IGNORECASE)
        else 1.0
        if "fp8" in name.lower()
        else 2.0
    )
    return max(map(float, found)) * 1e9 * per_parameter if found else 0.0


def is_hub_name(engine: Engine) -> bool:
    """Return True if the model is named as on Hugging Face's hub."""
    return engine.model is not None and _HUB_NAME.fullmatch(engine.model.text) is not None


def cache_path(engine: Engine) -> str | None:
    """Return where the weights are downloaded to, None if a variable from elsewhere may say."""
    given = engine.arguments.get("download_dir")
    if given is not None:
        return (given.text or "").rstrip("/") or None
    for name, below in (
        ("HF_HUB_CACHE", ""),
        ("HUGGINGFACE_HUB_CACHE", ""),
        ("HF_HOME", "/hub"),
        ("XDG_CACHE_HOME", "/huggingface/hub"),
        ("HOME", "/.cache/huggingface/hub"),
    ):
        if name in engine.env_secret:
            return None
        if (found := engine.env.get(name)) is not None and found.text:
            return found.text.rstrip("/") + below if "$" not in found.text else None
    host = engine.host
    user = host.user if host is not None else None
    if not engine.env_complete or (user is not None and user.text != "0"):
        return None
    return f"{DEFAULT_CACHE}/hub"


def mount_of(engine: Engine, path: str) -> Mount | None:
    """Return the volume on which the path lies: of several the deepest."""
    mounts = engine.host.mounts if engine.host is not None else {}
    holding = [at for at in mounts if at and (path == at or path.startswith(f"{at}/"))]
    return mounts[max(holding, key=len)] if holding else None


def downloads(engine: Engine) -> bool:
    """Return True if every start downloads the weights: a name on the hub, and nothing that
    outlives the container where they go.
    """
    pod, path = engine.pod, cache_path(engine)
    if pod is None or not pod.raw or pod.prepared or not is_hub_name(engine) or path is None:
        return False
    mount = mount_of(engine, path)
    return mount is None or mount.source == "emptyDir"


def claim_bytes(scene: Scene, engine: Engine, mount: Mount) -> float | None:
    """Return the size of the claim behind a volume, None if it was not read."""
    namespace = engine.pod.namespace if engine.pod is not None else ""
    found = {
        claim.size_bytes
        for claim in scene.claims
        if claim.name == mount.name
        and (not claim.namespace or not namespace or claim.namespace == namespace)
    }
    return found.pop() if len(found) == 1 else None
