"""A file system that cannot be written, and no volume for what vLLM writes.

Meaning: With readOnlyRootFilesystem the container can write nowhere but on its volumes. vLLM needs
a folder for temporary files (/tmp, or TMPDIR) for its own sockets, and writes caches below
~/.cache.
Impact: "No usable temporary directory found" or "Read-only file system", and the server exits.

Bad:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a,
          image: "vllm/vllm-openai:v0.32.0", args: ["--model", "Qwen/Qwen3-8B"],
          securityContext: {readOnlyRootFilesystem: true}, resources: {limits: {nvidia.com/gpu: 1}}}]}}

Good:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {volumes: [{name: t, emptyDir:
        {}}, {name: c, emptyDir: {}}], containers: [{name: a,
          image: "vllm/vllm-openai:v0.32.0", args: ["--model", "Qwen/Qwen3-8B"],
          securityContext: {readOnlyRootFilesystem: true}, volumeMounts: [{name: t,
          mountPath: /tmp}, {name: c, mountPath: /root/.cache}], resources: {limits: {nvidia.com/gpu: 1}}}]}}

Fix: emptyDir volumes at /tmp and at /root/.cache.
Source: vLLM 0.32.0 envs.VLLM_RPC_BASE_PATH (tempfile.gettempdir); Python, tempfile.gettempdir
(TMPDIR, /tmp, /var/tmp, /usr/tmp, the working directory).
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule

_CACHES = ("HF_HOME", "XDG_CACHE_HOME", "HOME", "VLLM_CACHE_ROOT")


def judge(scene: Scene) -> Iterator[Found]:
    """Every engine on a read-only file system without a folder that it may write."""
    for engine in scene.engines:
        host = engine.host
        if host is None or host.read_only_root is None:
            continue
        writable = [mount.path for mount in host.mounts.values() if not mount.read_only]
        temporary = any(
            path.startswith(("/tmp", "/var", "/usr/tmp", "/vllm-workspace", "/workspace"))
            for path in writable
        )
        told = engine.env_complete and "TMPDIR" not in engine.env.keys() | engine.env_secret
        if not temporary and told:
            yield Found(
                host.read_only_root.place,
                "the file system is read-only, and no volume lies at /tmp: vLLM has no place for "
                "its sockets",
                "an emptyDir at /tmp, and one at /root/.cache",
                severity="error" if not writable and engine.own_image else None,
            )
        elif engine.env_complete and not (
            any("cache" in path or path in ("/root", "/home") for path in writable)
            or engine.env.keys() & set(_CACHES)
        ):
            yield Found(
                host.read_only_root.place,
                "the file system is read-only, and no volume lies at the caches below ~/.cache",
                "an emptyDir at /root/.cache",
                confidence="medium",
            )


RULE = Rule("read-only-root", "a read-only file system without caches", judge, "warning")
