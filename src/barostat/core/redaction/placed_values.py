# ruff: noqa: E501  (a pattern that is broken over lines is harder to read than a long one)
"""Finds keys by their place: a random word that is assigned, sent in a header, passed to a flag or
quoted as an argument is a secret whatever its name is, unless the name says that it is public: a
hash, an id, a version.

Also finds names of passwords in other languages than English, and texts in Base64 or hexadecimal
that hold a secret once they are decoded.
"""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from collections.abc import Callable

from barostat.core.redaction.key_shapes import (
    classes,
    is_mixed_part,
    looks_like_a_key,
)
from barostat.core.redaction.named_values import PLACEHOLDER, REDACTED, value_at
from barostat.core.redaction.names import name_words

_MAY_BE_DRAWN = re.compile(
    r"(?<![A-Za-z0-9])(?=[A-Za-z]{1,64}+\d|\d{1,64}+[A-Za-z])[A-Za-z0-9]{8}|[A-Z0-9]{4,8}-[A-Z0-9]{4,8}-[A-Z0-9]{4,8}-"
)
"""Cheap, as the next: hardly a line of an ordinary log has such a word."""
_MAY_BE_ENCODED = re.compile(r"[a-z0-9][A-Z][A-Za-z0-9+/_-]{8}|[0-9a-fA-F]{20}")
_WORD = r"[A-Za-z0-9][\w+/~!@#$%^*.=-]{9,511}"
_ASSIGNED = re.compile(
    rf"(?<![\w.-])(?P<name>[^\W\d][\w.-]{{0,80}})(?P<said>\\{{0,4}}[\"'`]?\s?[\])]?\s{{0,4}}(?:=>|:=|[=:])\s{{0,4}}(?:[bfru]{{0,2}}\\{{0,4}}[\"'`])?)(?P<value>{_WORD})"
)
_FLAGGED = re.compile(
    rf"(?<![\w-])(?P<name>--?[A-Za-z][\w-]{{0,60}})(?P<said>[ =][\"'`]?)(?P<value>{_WORD})"
)
_ARGUMENT = re.compile(
    rf"(?P<name>\b[A-Za-z_][\w.]{{1,80}})?(?P<said>[(,\[{{]\s?[bfru]{{0,2}}(?P<quote>[\"']))(?P<value>{_WORD})(?=(?P=quote)\s?[,)\]}}])"
)
_ECHOED = re.compile(
    rf"^(?P<name>\+{{1,4}})(?P<said> (?:echo|printf) ['\"]?)(?P<value>{_WORD})(?=['\"]?\s*$)",
    re.MULTILINE,
)
_ENTRY_NAME = re.compile(
    r"\bname[\"']?\s?[:=]\s?[\"']?([\w.-]{1,120})[\"']?,?\s{1,40}-?\s?[\"']?\Z"
)
"""The name of a variable, before its `value`."""
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]+")
_HEX = re.compile(r"[0-9a-f]{32,512}|[0-9A-F]{32,512}")
_ISSUED = re.compile(
    r"(?<![\w./-])(?P<issuer>[a-z]{3,12})(?:_(?:live|test|prod|pat|key|sk|v\d))?[_-](?:[0-9a-f]{40,128}|(?=[A-Za-z]*\d)(?=[a-z\d]*[A-Z])[A-Za-z0-9]{24,128})(?![\w-])"
)
"""An issuer's short name, and a long random word."""
_NO_ISSUERS = frozenset(
    {"chatcmpl", "cmpl", "resp", "msg", "req", "call", "toolu", "embd", "score", "rerank", "pool", "raysubmit", "psm", "thread", "asst", "step", "evt", "fc", "rs", "tar", "pip", "lib", "bin", "ssh"}
)  # fmt: skip
_BESIDE = re.compile(
    r"(?:(?<![\w+/=.-])(?P<before>[\w+/=-]{8,200}(?:\.v?\d)?)[.:-])?\[redacted\](?:[._~+/=-]{1,2}(?P<after>[\w+/=~-]{8,512})|(?P<end>(?=[\w=]*\d)[\w+/=-]{6,512}))?"
)
"""What adjoins a key that was redacted is a part of it if it is as random."""
_UUIDS = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_PUBLIC = frozenset(
    {
        "id", "ids", "uid", "uids", "uuid", "guid", "hash", "hashes", "digest", "sha", "md", "checksum", "etag", "fingerprint", "commit", "revision", "rev", "ref", "refs", "head",
        "version", "image", "images", "tag", "tags", "model", "models", "name", "names", "path", "paths", "file", "files", "dir", "folder", "url", "uri", "host", "hostname", "node", "pod", "job", "task", "actor",
        "trace", "traceparent", "tracestate", "span", "request", "requests", "req", "rid", "run", "build", "block", "page", "shape", "dtype", "symbol", "handle", "cursor", "continue", "integrity", "public", "pub",
        "cert", "certificate", "thumbprint", "serial", "device", "devices", "gpu", "gpus", "arch", "adapter", "lora", "tokenizer", "served", "cache", "graph", "snapshot", "container", "replica", "replicaset", "deployment",
        "statefulset", "service", "namespace", "owner", "holder", "lease", "generation", "object", "resource", "engine", "worker", "rank", "group", "comm", "type", "class", "kind", "format", "module", "layer",
        "kernel", "op", "function", "method", "label", "selector", "epoch", "sequence", "seq", "shm", "socket", "address", "addr", "endpoint", "etcd", "zone", "region", "cluster", "instance", "machine", "boot", "system",
        "blob", "artifact", "package", "wheel", "crate", "gem", "commithash", "githash", "nar", "tokenids", "text", "prompt", "content", "message", "tools", "tool", "call", "session", "correlation", "batch", "line", "column",
        "error", "exception", "typeerror", "valueerror", "driver", "date", "time", "timestamp", "dataset", "checkpoint", "weights", "architecture", "architectures", "config", "quantization", "http", "https",
    }
)  # fmt: skip
"""Words of names whose values are random and known to everybody."""
_SEEDS = frozenset(
    {
        "pepper",
        "salt",
        "seed",
        "signer",
        "signing",
        "opener",
        "fernet",
        "phrase",
        "material",
        "entropy",
        "nonce",
    }
)
"""Words of names whose hexadecimal value is a secret, also in small letters."""
_PUBLIC_KEYS = frozenset(
    {
        "cache", "block", "hash", "prefix", "sort", "partition", "primary", "foreign", "compile", "graph", "group", "lock", "object", "idempotency", "row", "index", "trace", "dedup", "storage", "layer", "public", "pub",
    }
)  # fmt: skip
_SHORTEST_PART = 10
_LONGEST_ENCODED = 8192


def without_placed(text: str) -> str:
    """Return the text without random words in the place of a value."""
    if _MAY_BE_DRAWN.search(text) is None:
        return text
    if "=" in text or ":" in text:
        text = _ASSIGNED.sub(_without_assigned, text)
    if "-" in text:
        text = _FLAGGED.sub(_without_flagged, text)
    if "'" in text or '"' in text:
        text = _ARGUMENT.sub(_without_argument, text)
    if "+ " in text:
        text = _ECHOED.sub(_without_argument, text)
    text = _ISSUED.sub(
        lambda found: (
            found[0] if found["issuer"] in _NO_ISSUERS or found["issuer"] in _PUBLIC else REDACTED
        ),
        text,
    )
    return _BESIDE.sub(_with_what_adjoins, text) if REDACTED in text else text


def _with_what_adjoins(found: re.Match[str]) -> str:
    before, after = found["before"], found["after"] or found["end"]
    start = found.start("before") if before and is_mixed_part(before) else -1
    head = "" if start >= 0 or not before else found[0][: found[0].index(REDACTED)]
    tail = found[0][found[0].index(REDACTED) + len(REDACTED) :]
    return f"{head}{REDACTED}{'' if after and _is_drawn(after) else tail}"


def _bare(value: str) -> str:
    return _UUIDS.sub("", value.rstrip(".,;:!*\\"))


def _without_assigned(found: re.Match[str]) -> str:
    name, value = found["name"], _bare(found["value"])
    if (
        name == "value"
        and (entry := _ENTRY_NAME.search(found.string, 0, found.start())) is not None
    ):
        name = entry[1]
    words = name_words(name.rsplit(".", 1)[-1] if "." in name else name)
    if not _PUBLIC.isdisjoint(words) or PLACEHOLDER.fullmatch(value):
        return found[0]
    if _is_drawn(value) or _is_hidden(name, words, value.rstrip("="), _word_before(found)):
        return f"{found['name']}{found['said']}{REDACTED}"
    return found[0]


_LAST_WORD = re.compile(r"([A-Za-z]{2,20})[ _]\Z")


def _word_before(found: re.Match[str]) -> tuple[str, ...]:
    last = _LAST_WORD.search(found.string, max(0, found.start() - 24), found.start())
    return (last[1].lower(),) if last is not None else ()


def _without_flagged(found: re.Match[str]) -> str:
    if _PUBLIC.isdisjoint(name_words(found["name"])) and _is_drawn(_bare(found["value"])):
        return f"{found['name']}{found['said']}{REDACTED}"
    return found[0]


def _without_argument(found: re.Match[str]) -> str:
    name = found["name"] or ""
    if _PUBLIC.isdisjoint(name_words(name)) and _is_drawn(_bare(found["value"])):
        return f"{name}{found['said']}{REDACTED}"
    return found[0]


def _is_drawn(value: str) -> bool:
    """True if most of the value is in parts of capitals, small letters and digits in turn."""
    if classes(value) < 3 or value.startswith("_Z"):
        return False
    parts = re.split(r"[^A-Za-z0-9]+", value)
    mixed = sum(len(part) for part in parts if classes(part) == 3 and is_mixed_part(part))
    return mixed >= min(_SHORTEST_PART, 0.6 * len(value))


def _is_hidden(name: str, words: tuple[str, ...], value: str, before: tuple[str, ...] = ()) -> bool:
    """True for what looks like a hash, or has letters of one case, under a variable's name that
    does not call it a hash. `before`: the word before the name.
    """
    if words[-1:] == ("key",) and not _PUBLIC_KEYS.isdisjoint(words[-2:-1] or before):
        return False
    telling = _VARIABLE.fullmatch(name) or words[-1:] == ("key",) or not _SEEDS.isdisjoint(words)
    if not telling:
        return False
    parts = re.split(r"[^A-Za-z0-9]+", value)
    return any(
        _HEX.fullmatch(part)
        or _ONE_CASE.fullmatch(part)
        or (len(part) >= 20 and classes(part) > 1 and is_mixed_part(part))
        for part in parts
    ) or (len(parts) >= 4 and _LICENCE.fullmatch(value) is not None)


_ONE_CASE = re.compile(r"(?=(?:[A-Za-z]*\d){2})(?:[a-z0-9]{20,512}|[A-Z0-9]{20,512})")
_LICENCE = re.compile(
    r"(?=(?:[A-Z-]*\d){3})(?=(?:[\d-]*[A-Z]){3})[A-Z0-9]{4,8}(?:-[A-Z0-9]{4,8}){3,7}"
)
LOOK_ALIKES = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0455\u0458\u043a\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425\u03bf\u03b1\u0391\u0392\u0395\u039a\u039c\u039d\u039f\u03a1\u03a4",
    "aeopcyxisjkABEKMHOPCTXoaABEKMNOPT",
)
"""Cyrillic and Greek letters that are drawn as Latin ones are."""


def folded(text: str) -> str:
    """Return the text in compatibility form, letters that are drawn as Latin ones made Latin."""
    return unicodedata.normalize("NFKC", text).translate(LOOK_ALIKES)


_LATIN = (
    *("passwort", "kennwort", "contrasena", "clave", "mot de passe", "motdepasse", "senha", "palavra-passe", "parola", "wachtwoord", "haslo", "heslo", "losenord", "sifre", "salasana", "adgangskode", "jelszo", "schluessel", "geheimnis", "parole"),
)  # fmt: skip
_BEYOND_ASCII = (
    *("contraseña", "hasło", "lösenord", "şifre", "jelszó", "schlüssel", "пароль", "ключ", "секрет", "токен", "密码", "密碼", "口令", "密钥", "密鑰", "令牌", "パスワード", "暗証番号", "秘密鍵", "トークン", "비밀번호", "암호", "비밀키", "토큰"),
    *("mật khẩu", "รหัสผ่าน", "पासवर्ड", "كلمة المرور", "كلمة السر", "סיסמה", "κωδικός", "clé secrète", "гасло", "парола", "şifresi", "palavra‑passe"),
)  # fmt: skip


def _foreign(words: tuple[str, ...]) -> re.Pattern[str]:
    named = "|".join(re.escape(folded(word)) for word in words)
    return re.compile(
        rf"(?:{named})(?:\w{{0,3}}|[_.-]\w{{1,40}}|d.ordine| d.ordine)\\{{0,8}}[\"'`]?\s{{0,4}}(?P<sign>[:=]|=>|\s(?=\S))\s{{0,4}}",
        re.IGNORECASE,
    )


_FOREIGN_LATIN, _FOREIGN = _foreign(_LATIN), _foreign(_LATIN + _BEYOND_ASCII)


def without_foreign(text: str, low: str) -> str:
    """Return the text without values of names that mean a password in another language. `low`: the
    text in small letters.
    """
    ascii_only = text.isascii()
    if ascii_only and not any(word in low for word in _LATIN):
        return text
    pattern = _FOREIGN_LATIN if ascii_only else _FOREIGN
    pieces: list[str] = []
    done = 0
    for found in pattern.finditer(text):
        if found.start() < done:
            continue
        for start, end, kept in value_at(text, found.end()):
            if start >= done and (found["sign"].strip() or looks_like_a_key(text[start:end])):
                pieces += (text[done:start], kept)
                done = end
    return "".join((*pieces, text[done:])) if pieces else text


_BLOB = re.compile(
    rf"(?<![\w+/=.-])(?:[A-Za-z0-9+/]{{20,{_LONGEST_ENCODED}}}|[A-Za-z0-9_-]{{20,{_LONGEST_ENCODED}}})={{0,2}}(?![\w+/=])"
)
_EVEN_HEX = re.compile(rf"(?:[0-9a-fA-F]{{2}}){{10,{_LONGEST_ENCODED}}}")
_PAIR = re.compile(r"[\w.@+-]{1,80}:[^\s:]{4,256}")
"""A user and a password, as Basic sends them."""


def without_encoded(text: str, redact: Callable[[str], str]) -> str:
    """Return the text without words in Base64 or hexadecimal that `redact` changes once decoded."""
    if _MAY_BE_ENCODED.search(text) is None:
        return text

    def hide(found: re.Match[str]) -> str:
        decoded = _decoded(found[0])
        if decoded is None or (_PAIR.fullmatch(decoded) is None and redact(decoded) == decoded):
            return found[0]
        return REDACTED

    return _BLOB.sub(hide, text)


def _decoded(blob: str) -> str | None:
    """Return the text that these letters stand for; None if it is no text."""
    if _EVEN_HEX.fullmatch(blob):
        made = bytes.fromhex(blob)
    elif blob.islower() or blob.isupper():
        return None
    else:
        bare = blob.rstrip("=").translate(_FROM_URL)
        try:
            made = base64.b64decode(bare + "=" * (-len(bare) % 4), validate=True)
        except binascii.Error:
            return None
    if all(32 <= byte < 127 or byte in b"\n\r\t" for byte in made):
        return made.decode("ascii")
    return None


_FROM_URL = str.maketrans("-_", "+/")
