# ruff: noqa: E501  (a pattern that is broken over lines is harder to read than a long one)
"""Names of variables, fields, flags and headers: do they say that their value is a secret?

A name decides by the words that it contains, wherever they stand: `HF_TOKEN_1`, `dbPasswordOld`,
`fs.s3a.secret.key`.
"""

from __future__ import annotations

import re
from enum import IntEnum
from functools import lru_cache


class Telling(IntEnum):
    """How much a name says about its value."""

    NOTHING = 0
    MAYBE = 1
    """The value is a secret if it looks like one: `cache_key`, `password_file`."""
    SECRET = 2


_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_STEM = re.compile(
    r"pass(?:word|wd|phrase|code)|passwor|secret(?!ar|ion|ly)|credential|cookie(?!polic|count)|bearer|authorization(?!mode)|signature(?!mismatch)"
    r"|(?:api|access|private|auth|account|master|signing|encryption|subscription|storage|license|secret|ssh|hmac|function|functions|application|service|deploy|client|shared|shared ?access)s?key"
    r"|(?:master|seed|recovery|secret|wallet|backup)phrase|mnemonic|(?:sess|session|php|jsession|phpsess)id(?:$|cookie)|conn(?:ection)?str(?:ing)?|[xc]srf|dockerconfigjson|otlpheaders|honeycombteam|etcdctluser|nonce$|proxyauth|pgpass"
    r"|(?:db|ssh|store|key|redis|user|root|admin|mail|smtp|ldap|bind|http|ftp|my|mysql|mongo|proxy|trust|pg)(?:pass|pwd?)(?!es|ed|ing|age)|authtoken|requirepass|masterauth|identitytoken|refreshtoken"
)
"""Spelled without separators, anywhere in the name."""
_WORDS = frozenset(
    {
        "pass", "pwd", "pw", "pat", "auth", "jwt", "dsn", "sig", "creds", "cred", "otp", "psk", "hmac", "sessid", "passin", "passout", "saspw", "crumb", "otc",
        "apikey", "apikeys", "authkey", "sas",
    }
)  # fmt: skip
_KEY_OF = frozenset(
    {
        "api", "access", "secret", "private", "signing", "encryption", "account", "subscription", "storage", "shared", "service", "deploy", "auth", "master", "license",
        "ssh", "hmac", "functions", "function", "app", "application", "admin", "root", "host", "x", "hf", "openai", "wandb", "ngc", "jwt", "aes", "rsa",
        "crypto", "cipher", "decryption", "session", "webhook", "bot", "rapidapi", "redis", "azure", "aws", "s3", "gcp", "google", "anthropic", "user", "stream", "integration",
        "publishable", "restricted", "instrumentation", "unseal", "recovery", "connection", "xi", "sas", "live", "test", "prod", "gateway", "vllm", "engine", "data", "clickhouse", "dd", "datadog", "sentry", "maps", "write", "read", "team",
    }
)  # fmt: skip
_CODE_OF = frozenset(
    {"backup", "recovery", "pin", "device", "verification", "auth", "invite", "reset"}
)
_TOKEN_OF_A_MODEL = frozenset(
    {
        "bos", "eos", "pad", "unk", "sep", "cls", "mask", "stop", "start", "end", "begin", "image", "video", "audio", "num", "max", "min", "per", "prompt", "output", "input", "first",
        "next", "last", "generated", "generation", "cached", "special", "added", "think", "vocab", "new", "draft", "spec", "speculative", "completion", "total", "batched", "recent", "context", "tool", "patch", "vision", "is",
        "decode", "prefill", "out", "in", "single", "sampled", "accepted", "rejected", "bonus", "eot", "eom", "python", "frame", "boi", "eoi", "img", "current", "previous", "count", "avg", "mean", "delta",
    }
)  # fmt: skip
_NO_VALUE = frozenset(
    {
        "name", "names", "file", "files", "filename", "path", "paths", "dir", "directory", "count", "counts", "counter", "type", "types", "class", "size", "sizes", "length", "len", "limit", "limits", "max", "min", "ratio", "rate",
        "budget", "mode", "format", "parser", "url", "uri", "endpoint", "policy", "ttl", "expiry", "expires", "expired", "ref", "refs", "env", "var", "provider", "required", "enabled", "disabled", "loaded", "failures", "failed", "failure", "error",
        "errors", "exception", "warning", "algorithm", "algo", "version", "scheme", "method", "plugin", "status", "state", "throughput", "usage", "index", "idx", "pos", "position", "pool", "rotation", "store", "manager", "prefix", "group",
        "timeout", "seconds", "ms", "bytes", "created", "updated", "latency", "num", "number", "total", "missing", "invalid", "valid", "found", "stdin", "header", "headers", "location", "column", "field", "affinity", "cache",
        "volume", "mount", "mounts", "list", "audience", "issuer", "lifetime", "source", "arn", "region", "controller", "operator", "sync", "helper", "server", "handler", "middleware", "module", "keyref", "selector", "namespace", "config",
    }
)  # fmt: skip
_TOKENS_OF_TEXT = re.compile(r"tokeni[sz]|(?:^|_|-)detoken|tokens(?!ecret)")
_SESSIONS_OF_OURS = frozenset(
    {
        "num",
        "max",
        "per",
        "http",
        "client",
        "inference",
        "torch",
        "new",
        "active",
        "profiler",
        "engine",
        "aiohttp",
        "idle",
    }
)
_REFERENCES = re.compile(
    r"^(?:imagepullsecrets?|secretkeyref|secretref|secretname|automountserviceaccounttoken|serviceaccounttoken)$"
)
_LONGEST = 160


def name_words(name: str) -> tuple[str, ...]:
    """Return the words of a name, in small letters, without its numbers."""
    return _name_words(name[-_LONGEST:])


@lru_cache(maxsize=4096)
def _name_words(name: str) -> tuple[str, ...]:
    return tuple(word.lower() for word in _PARTS.findall(name) if not word.isdigit())


def telling(name: str) -> Telling:
    """Return what the name says about its value; of a long name its last 160 characters decide."""
    return _telling(name[-_LONGEST:])


@lru_cache(maxsize=4096)
def _telling(name: str) -> Telling:
    words = [word.lower() for word in _PARTS.findall(name)]
    joined = "".join(words)
    if not words or _REFERENCES.match(joined):
        return Telling.NOTHING
    found = _by_words(words, joined, name)
    if joined.endswith(("otlpheaders", "apikeyheader", "authheaders")):
        return Telling.SECRET
    if joined == "secretid" and "_" not in name:
        return Telling.MAYBE  # AWS's name of a secret
    if found is Telling.SECRET and _says_something_about_it(words):
        return Telling.MAYBE
    return found


def _says_something_about_it(words: list[str]) -> bool:
    """True if the last word turns the name into one of a property: a count, a path, an error."""
    last = next((word for word in reversed(words) if not word.isdigit()), "")
    return last in _NO_VALUE


def _by_words(words: list[str], joined: str, name: str) -> Telling:
    if _STEM.search(joined) or any(word in _WORDS for word in words):
        return Telling.SECRET
    if "token" in joined and not _TOKENS_OF_TEXT.search(joined):
        return _token(words)
    if any(word in ("key", "keys") for word in words):
        return _key(words, name)
    if words[-1] == "session" and len(words) > 1 and words[-2] not in _SESSIONS_OF_OURS:
        return Telling.SECRET
    if words[-1] in ("code", "codes") and len(words) > 1 and words[-2] in _CODE_OF:
        return Telling.SECRET
    if words[-1] in ("session", "sid", "code", "tokens", "salt"):
        return Telling.MAYBE
    return Telling.NOTHING


def _token(words: list[str]) -> Telling:
    """`HF_TOKEN_1` is a secret; `eos_token` and `token_count` are a model's."""
    place = next((index for index, word in enumerate(words) if "token" in word), 0)
    before = words[place - 1] if place else ""
    after = words[place + 1] if place + 1 < len(words) else ""
    if before in _TOKEN_OF_A_MODEL or after in ("id", "ids", "count", "ratio", "budget"):
        return Telling.NOTHING
    return Telling.SECRET


def _key(words: list[str], name: str) -> Telling:
    """`api_key_2` and `X_KEY` are secrets; `sort_key` is one only with a value that looks so."""
    for index, word in enumerate(words):
        if word in ("key", "keys") and index and words[index - 1] in _KEY_OF:
            return Telling.SECRET
    if name.upper() == name and len(words) > 1 and words[-1] != "keys":
        return Telling.SECRET
    if words[-1] == "key" and words[0] == "x" and "-" in name:
        return Telling.SECRET
    return Telling.MAYBE if words[-1] in ("key", "id") or words[-1].isdigit() else Telling.NOTHING
