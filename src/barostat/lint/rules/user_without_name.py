"""A user that the image does not know, without USER or HOME.

Meaning: runAsUser sets a number that has no entry in the image's /etc/passwd. PyTorch asks for the
user's name as it is imported (getpass.getuser, which reads USER first), and HOME is then /, where
only root may write.
Impact: "KeyError: 'getpwuid(): uid not found: 1000'" and the server exits; or caches cannot be
written.

Bad:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a,
          image: "vllm/vllm-openai:v0.32.0", args: ["--model", "Qwen/Qwen3-8B"],
          securityContext: {runAsUser: 1000}, resources: {limits: {nvidia.com/gpu: 1}}}]}}

Good:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a,
          image: "vllm/vllm-openai:v0.32.0", args: ["--model", "Qwen/Qwen3-8B"],
          securityContext: {runAsUser: 1000}, env: [{name: USER, value: vllm}, {name:
          HOME, value: /tmp}], resources: {limits: {nvidia.com/gpu: 1}}}]}}

Fix: USER and HOME among the variables, HOME on a volume that the user may write; or the image's own
user vllm (2000), where it has one.
Source: vLLM issue 44548 (0.22 and newer fail at import); pytorch issue 140765; ai-dynamo/dynamo
pull request 12457 (user 2000).
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule
from barostat.lint.rules._images import starts_itself

_OWN_USERS = ("0", "2000")
_NAMES = frozenset(("USER", "LOGNAME", "LNAME", "USERNAME"))
AT_IMPORT_SINCE = "0.22.0"
"""The first version that asks for the user's name before it reads an argument."""


def judge(scene: Scene) -> Iterator[Found]:
    """Every engine of vLLM's own image that runs as a number without a name."""
    for engine in scene.engines:
        user = engine.host.user if engine.host is not None else None
        image = engine.image.text if engine.image is not None else ""
        if (
            user is None
            or not user.text.isdigit()
            or user.text in _OWN_USERS
            or not engine.env_complete
            or not starts_itself(image)
        ):
            continue
        given = engine.env.keys() | engine.env_secret
        fails = engine.version is not None and engine.version.at_least(AT_IMPORT_SINCE)
        if not given & _NAMES:
            yield Found(
                user.place,
                f"the image has no user {user.text}, and USER is not set: "
                + ("torch fails at import" if fails else "torch may fail as it compiles"),
                "USER and HOME among the variables",
                confidence=None if fails else "medium",
            )
        elif "HOME" not in given and not given & {"HF_HOME", "VLLM_CACHE_ROOT", "XDG_CACHE_HOME"}:
            yield Found(
                user.place,
                f"the image has no user {user.text}, so HOME is /, which it cannot write",
                "HOME, on a volume that the user may write",
                confidence="medium",
            )


RULE = Rule("user-without-name", "a user that the image does not know", judge, "warning")
