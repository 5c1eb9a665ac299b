"""Redacts Kubernetes objects to what a diagnosis needs: no values of unknown variables, no copies
of the manifest, no bookkeeping.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from barostat.core.redaction.credentials import (
    REDACTED,
    allowed_variable,
    arguments,
    clean,
    secret_name,
)
from barostat.core.redaction.key_shapes import is_random
from barostat.io.redaction.text import log_lines

_KEPT_ANNOTATIONS = re.compile(
    r"^(?:deployment\.kubernetes\.io/|kubectl\.kubernetes\.io/restartedAt$|autoscaling\.alpha\.kubernetes\.io/|prometheus\.io/(?:scrape|port|path)$"
    r"|meta\.helm\.sh/release-name(?:space)?$|pod\.alpha\.kubernetes\.io/|kubernetes\.io/(?:change-cause|psp)$|keda\.sh/|autoscaling\.keda\.sh/"
    r"|cluster-autoscaler\.kubernetes\.io/|controller\.kubernetes\.io/|argocd\.argoproj\.io/tracking-id$)"
)
_DROPPED = frozenset({"managedFields", "data", "stringData", "binaryData", "encryptedData"})
_VARIABLES = re.compile(r"^(?:\w*[eE]nv(?:ironment)?(?:Vars?|s)?|environment)$")
_COMMANDS = frozenset({"args", "command"})
_KEY = re.compile(r"(?:^|[-_])(?:api[-_]?key|pass(?:word|wd)?|token|secret)$", re.IGNORECASE)
"""A number under such a name is a numeric secret, not a quantity."""
_REFERENCES = frozenset(
    {
        "secretName",
        "secretKeyRef",
        "secretRef",
        "secret",
        "imagePullSecrets",
        "serviceAccountToken",
        "key",
        "topologyKey",
    }
)


def document(value: Any) -> Any:
    """Return a decoded document without secrets, in the shape of `kubectl get -o json`."""
    return _walk(value, "")


def _walk(value: Any, key: str) -> Any:
    match value:
        case Mapping():
            return {
                str(name): _entry(str(name), item)
                for name, item in value.items()
                if name not in _DROPPED
            }
        case list():
            return [_walk(item, key) for item in value]
        case str() if key in ("message", "note"):
            return "\n".join(log_lines(clean(value).split("\n")))
        case str():
            return clean(value)
        case _:
            return value


def _entry(name: str, value: Any) -> Any:
    match value:
        case Mapping() if name == "annotations":
            return {
                str(key): _cause(item) if str(key).endswith("change-cause") else _walk(item, "")
                for key, item in value.items()
                if _KEPT_ANNOTATIONS.match(str(key))
            }
        case list() if _VARIABLES.match(name):
            return [_variable(item) for item in value]
        case Mapping() if _VARIABLES.match(name):
            return {str(key): _of_variable(str(key), item) for key, item in value.items()}
        case list() if name == "httpHeaders":
            return [
                {**item, "value": REDACTED} if isinstance(item, Mapping) else item for item in value
            ]
        case list() if name in _COMMANDS and all(isinstance(item, str) for item in value):
            return _command(value)
        case str() if secret_name(name) and name not in _REFERENCES:
            return REDACTED
        case list() if (
            secret_name(name)
            and name not in _REFERENCES
            and all(isinstance(item, str | int) for item in value)
        ):
            return [REDACTED] * len(value)
        case int() if _KEY.search(name) and not isinstance(value, bool):
            return REDACTED
        case _:
            return _walk(value, name)


def _command(words: list[str]) -> list[str]:
    """Return the words of a command without secrets, including those recognisable only by the
    preceding word: `curl -u user:password`.
    """
    found = list(arguments(tuple(words)) or ())
    whole = clean(" ".join(found)).split(" ")
    return whole if len(whole) == len(found) and not any(" " in word for word in found) else found


def _cause(value: Any) -> Any:
    """Return a change-cause annotation, redacted like a command line."""
    if not isinstance(value, str):
        return _walk(value, "")
    cleaned = str(arguments(value))
    return " ".join(
        REDACTED if is_random(word.strip("'\".,;"), shortest=10) else word
        for word in cleaned.split(" ")
    )


def _of_variable(name: str, value: Any) -> Any:
    """Return the value of a variable if its name is known to be harmless, else REDACTED."""
    match value:
        case Mapping() | None | bool():
            return _walk(value, name)
        case _:
            return clean(str(value)) if allowed_variable(name) else REDACTED


def _variable(item: Any) -> Any:
    """Return an entry of `env`, with its value only if the name is known to be harmless. References
    (valueFrom) are kept.
    """
    if isinstance(item, str) and "=" in item:
        name, _, value = item.partition("=")
        return f"{name}={_of_variable(name, value)}"
    if not isinstance(item, Mapping):
        return _walk(item, "")
    if not {"name", "value", "valueFrom"} & item.keys():
        return {str(key): _of_variable(str(key), value) for key, value in item.items()}
    found = {str(key): _walk(value, str(key)) for key, value in item.items() if key != "value"}
    if "value" in item:
        found["value"] = (
            clean(str(item["value"])) if allowed_variable(str(item.get("name", ""))) else REDACTED
        )
    return found
