"""What looks like a secret, taken out of any text; what may stay of an environment and of a command line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

REDACTED = "[redacted]"

_KEY = (
    r"[\w.-]*?(?:api[_-]?keys?|access[_-]?key(?:[_-]?id)?|secret[_-]?(?:access[_-]?)?key|private[_-]?key|signing[_-]?key|encryption[_-]?key"
    r"|account[_-]?key|auth|token|passw(?:or)?d|passphrase|pwd|secret|credentials?|cookie|authorization|signature|sig)"
)
_SHAPES = (
    r"hf_[A-Za-z0-9]{8,}",
    r"(?:sk|pk|rk)[-_][A-Za-z0-9][A-Za-z0-9_-]{7,}",
    r"gh[pousr]_[A-Za-z0-9]{8,}",
    r"github_pat_[A-Za-z0-9_]{8,}",
    r"gl(?:pat|dt|cbt)-[A-Za-z0-9_-]{8,}",
    r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{8,}",
    r"AIza[A-Za-z0-9_-]{10,}",
    r"ya29\.[A-Za-z0-9_-]{8,}",
    r"xox[abeoprs]-[A-Za-z0-9-]{8,}",
    r"nvapi-[A-Za-z0-9_-]{8,}",
    r"npm_[A-Za-z0-9]{8,}",
    r"pypi-[A-Za-z0-9_-]{8,}",
    r"dckr_pat_[A-Za-z0-9_-]{8,}",
    r"eyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?",
)
_SHAPE = re.compile(r"(?<![A-Za-z0-9])(?:" + "|".join(_SHAPES) + ")")
_SHAPE_STARTS = (
    *("hf_", "sk-", "sk_", "pk-", "pk_", "rk-", "rk_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "gldt-", "glcbt-"),
    *("AKIA", "ASIA", "ABIA", "ACCA", "AIza", "ya29.", "xox", "nvapi-", "npm_", "pypi-", "dckr_pat_", "eyJ"),
)
_PEM = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)", re.DOTALL)
_URL = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]{1,20}://)[^\s/@'\"<>]+@")
_BEARER = re.compile(r"\b(bearer|basic|negotiate|digest)\s+(?=\S*[\d=._~+/-]|\S{16})[A-Za-z0-9._~+/=-]{6,}", re.IGNORECASE)
_QUOTED = r"\"(?:[^\"\\]|\\.)*(?:\"|$)|'(?:[^'\\]|\\.)*(?:'|$)"
_PAIR = re.compile(
    rf"(?<![\w.-])(?P<key>{_KEY})(?P<between>\\*[\"']?\s*(?:=>|[=:])\s*)"
    rf"(?P<value>\[[^\]\n]*\]|\\+[\"'](?:(?!\\+[\"']).)*|{_QUOTED}|(?:bearer|basic)\s+\S+|[^\s,;&)}}\]\"']+)",
    re.IGNORECASE,
)
_HEADER = re.compile(r"(?im)\b(authorization|proxy-authorization|x-api-key|cookie|set-cookie)(\s*:\s*)(?!\[redacted\])[^\"'\n]+")
_HINTS = re.compile(
    r"(?:keys?|key_?id|token|secret|passw(?:or)?d|passphrase|pwd|auth|cookie|credentials?|authorization|signature|sig)\\*[\"']?\s*(?:=>|[=:])"
    r"|bearer|basic|negotiate|digest|://|-----BEGIN",
    re.IGNORECASE,
)
_WORDS = (
    *("key", "token", "secret", "passw", "passphrase", "pwd", "auth", "cookie", "credential", "signature", "sig"),
    *("bearer", "basic", "negotiate", "digest", "://", "-----begin"),
)
_HARMLESS = frozenset({"none", "null", "true", "false", "~", '""', "''", "[]", "[redacted]", "redacted", "***", ""})

_ALLOWED_ENV = re.compile(
    r"^(?:VLLM_|NCCL_|RCCL_|CUDA_|ROCR_|HIP_|HSA_|TORCH_|PYTORCH_|TORCHINDUCTOR_|NVIDIA_VISIBLE_DEVICES$|OMP_NUM_THREADS$|MKL_NUM_THREADS$"
    r"|HF_HUB_OFFLINE$|TRANSFORMERS_OFFLINE$|TOKENIZERS_PARALLELISM$|RAYON_NUM_THREADS$|GLOO_SOCKET_IFNAME$|RAY_memory_)"
)
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH|COOKIE", re.IGNORECASE)
_NOT_SECRET_NAME = re.compile(r"TOKENIZER|_TOKENS(?:_|$)|NUM_TOKEN|TOKENS_PER|MAX_TOKEN", re.IGNORECASE)
_FLAG = re.compile(
    r"^--?(?:[\w-]+[-_])?(?:api[-_]?keys?|hf[-_]token|token|secret|password|passwd|credentials?|access[-_]key|secret[-_]key|keyfile[-_]password)$",
    re.IGNORECASE,
)
_MANY_VALUES = re.compile(r"api[-_]?keys?$", re.IGNORECASE)
_ASSIGNMENT = re.compile(rf"(?<![\w$.{{-])(?P<name>[A-Z_][A-Z0-9_]*)=(?P<value>{_QUOTED}|[^\s;&|]*)")
_WORD = rf"(?:{_QUOTED}|[^\s'\"]+)"


def clean(text: str) -> str:
    """The text without anything that looks like a credential: known shapes, passwords in URLs, values beside a telling name."""
    if any(start in text for start in _SHAPE_STARTS):
        text = _SHAPE.sub(REDACTED, text)
    low = text.lower().replace("tokens", "")  # every statistics line counts tokens; looking for words is what makes long logs affordable
    if not any(word in low for word in _WORDS) or not _HINTS.search(text):
        return text
    text = _PEM.sub(REDACTED, text)
    text = _URL.sub(rf"\1{REDACTED}@", text)
    text = _HEADER.sub(rf"\1\2{REDACTED}", text)
    text = _BEARER.sub(rf"\1 {REDACTED}", text)
    return _PAIR.sub(_without_value, text)


def secret_name(name: str) -> bool:
    """True for the name of a variable, field or header whose value is a credential."""
    return bool(_SECRET_NAME.search(name)) and not _NOT_SECRET_NAME.search(name)


def allowed_variable(name: str) -> bool:
    """True for an environment variable that says something about the engine and nothing about its owner."""
    return bool(_ALLOWED_ENV.match(name)) and not secret_name(name)


def environment(env: Mapping[str, str]) -> dict[str, str]:
    """Those variables that may be shown, cleaned."""
    return {name: clean(value) for name, value in env.items() if allowed_variable(name)}


def arguments(args: tuple[str, ...] | str | None) -> tuple[str, ...] | str | None:
    """The command line without secrets: a list stays a list, one shell string stays one."""
    if args is None:
        return None
    return _command(args) if isinstance(args, str) else tuple(_words(args))


def _words(args: Iterable[str]) -> list[str]:
    found: list[str] = []
    hiding = many = False
    for word in args:
        name, equals, _ = word.partition("=")
        if _FLAG.match(name) and not re.search(r"\s", name):
            found.append(f"{name}={REDACTED}" if equals else word)
            hiding, many = not equals, bool(_MANY_VALUES.search(name))
        elif hiding and not word.startswith("--"):
            found.append(REDACTED)
            hiding = many
        else:
            hiding = False
            found.append(_command(word))
    return found


def _command(text: str) -> str:
    """A shell string: the values of secret flags and of variables that are not known to be harmless are taken out."""
    text = _ASSIGNMENT.sub(lambda match: match[0] if allowed_variable(match["name"]) else f"{match['name']}={REDACTED}", text)

    def hide(match: re.Match[str]) -> str:
        name = match["flag"]
        if not _FLAG.match(name):
            return match[0]
        return f"{name}{match['between']}{REDACTED}"

    several = rf"(?P<flag>--?[\w-]*api[-_]?keys?)(?P<between>=|\s+)(?:{_WORD})(?:\s+(?![-&|;<>]){_WORD})*"
    text = re.sub(several, hide, text, flags=re.IGNORECASE)
    return clean(re.sub(rf"(?P<flag>--?[\w-]+)(?P<between>=|\s+)(?!-){_WORD}", hide, text))


def _without_value(match: re.Match[str]) -> str:
    value = match["value"]
    if value.strip().lower() in _HARMLESS or (REDACTED in value and len(value) < len(REDACTED) + 10):
        return match[0]
    bare = value.strip("\"'")
    if re.fullmatch(r"-?\d{1,5}(?:\.\d{1,6})?%?", bare) and match["key"].lower().endswith(("token", "tokens", "sig", "auth")):
        return match[0]  # `time_per_token=0.5` is a measurement
    quote = value[0] if value[0] in "\"'" else ""
    return f"{match['key']}{match['between']}{quote}{REDACTED}{quote}"
