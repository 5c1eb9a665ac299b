"""A secret written into the manifest.

Meaning: an API key or a token of a model hub is a plain value in arguments or variables.
Impact: it is in the repository's history, in `kubectl get pod -o yaml` and in `ps` on the node.

Bad:

    vllm serve Qwen/Qwen3-8B --api-key sk-7f3a9c21d4b84e6fa1

Good:

    vllm serve Qwen/Qwen3-8B --api-key $VLLM_API_KEY

Fix: a Secret, and `valueFrom.secretKeyRef`; vLLM reads VLLM_API_KEY and HF_TOKEN by itself. The
secret in the history is burnt: make a new one.
Source: vLLM 0.32.0 envs.VLLM_API_KEY; core/v1 EnvVarSource.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from barostat.core.redaction.key_shapes import is_issued
from barostat.core.redaction.names import Telling, telling
from barostat.lint.facts import Engine, FileForm, Scene
from barostat.lint.rule import Found, Rule

_NOT_ONE = re.compile(
    r"[<>{}$*]|your|example|change|placeholder|dummy|empty|none|null|xxx|replace|todo|fake|test|sample|\.\.\.|redacted|insert|^/",
    re.I,
)

_ELSEWHERE: dict[FileForm, str] = {
    "manifest": "from a Secret (valueFrom.secretKeyRef)",
    "values": (
        "from a Secret that the values name (secretName and secretKey, or valueFrom.secretKeyRef)"
    ),
    "compose": "from an env_file that is not in the repository",
    "systemd": "from an EnvironmentFile that only the service may read",
    "script": "from a file that is not in the repository",
    "image": "when the container is started, not in the image",
    "task": "from the tool's store of secrets",
}
"""Where to keep the secret instead, by kind of file."""


def judge(scene: Scene) -> Iterator[Found]:
    """Yield every value that looks like a secret and is not a common placeholder. The value itself
    is never shown.
    """
    for engine in scene.engines:
        yield from _of(engine)


def _of(engine: Engine) -> Iterator[Found]:
    key = engine.arguments.get("api_key")
    literal = key is not None and key.text is not None and _is_literal(key.text)
    if key is not None and key.text and (literal or _is_secret(key.text)):
        also = (
            "every `kubectl get pod -o yaml`"
            if engine.form in ("manifest", "values")
            else "the list of processes"
        )
        yield Found(
            key.place,
            f"an API key stands in the command: it is in the repository and in {also}",
            f"VLLM_API_KEY {_ELSEWHERE[engine.form]}",
            severity=None if _is_secret(key.text) else "warning",
        )
    for name, given in engine.env.items():
        if (telling(name) is Telling.SECRET and _is_secret(given.text)) or (
            is_issued(given.text) and _is_secret(given.text)
        ):
            yield Found(
                given.place,
                f"{name} stands here in plain text",
                f"{name} {_ELSEWHERE[engine.form]}, and a new secret",
            )


def _is_literal(text: str) -> bool:
    """True for any text that clients have to show, however simple it is, and for no placeholder."""
    return len(text) >= 6 and " " not in text and not _NOT_ONE.search(text) and "no-key" not in text


def _is_secret(text: str) -> bool:
    """True for what is random enough to be one: an issuer's, or long and mixed; and no
    placeholder.
    """
    mixed = (
        len(text) >= 12
        and any(char.isdigit() for char in text)
        and any(char.isalpha() for char in text)
    )
    public = text.startswith("token-abc")  # of vLLM's documentation
    return (
        (mixed or is_issued(text)) and " " not in text and not public and not _NOT_ONE.search(text)
    )


RULE = Rule("secret-in-plain-text", "a secret in the manifest", judge, "error")
