"""What may leave a machine in a bundle: logs without prompts, access logs without people, texts
without credentials.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from barostat.core.redaction.credentials import (
    PEM_BEGINS,
    PEM_ENDS,
    REDACTED,
    clean,
    secret_name,
)
from barostat.core.redaction.key_shapes import is_random
from barostat.core.redaction.names import Telling, telling
from barostat.engines.vllm.logs.content import without_caller, without_content

_STARTS_RECORD = re.compile(
    r"^(?:(?:\x1b\[[0-9;]*m)*\([^)]{1,60}\)\s*){0,3}(?:\x1b\[[0-9;]*m)*"
    r"(?:(?:DEBUG|INFO|WARNING|ERROR|CRITICAL|TRACE)\b|\d{4}-\d\d-\d\d|\[?\d\d:\d\d|\{\"|Traceback \(|[\w.]+(?:Error|Exception)\b)"
)
_PEM_LINE = re.compile(r"-----BEGIN.*")
_KEY_LINE = re.compile(r"(?:^|[\s\"])[A-Za-z0-9+/]{16,}={0,2}[\"\s]*$|-----END")
"""A line of a key behind the stamps of whoever passed it on."""
_OPENS_SECRET = re.compile(
    r"(?:(?<![\w.-])(?P<name>[\w.-]{1,120})[\"']?\s*[:=]\s*(?:[|>][+-]?|\{|[brf]?(?:\"{3}|'{3}|[\"'`]))?\s*\\?|(?<![\w-])--(?P<flag>[\w.-]{1,120})[\"']?,?\s*\\?|(?<=bearer)\s*\\?|\bname[\"']?:\s*[\"']?(?P<variable>[\w.-]{1,120})[\"']?,?)\s*$",
    re.IGNORECASE,
)
"""A line that ends where a secret begins: a YAML key, a block's mark, an argument's name, the name
of a variable.
"""
_IPV4 = re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w.]*\.\d)(?!\w)")
_IPV6 = re.compile(
    r"(?<![\w:.])(?=[0-9A-Fa-f:]*:[0-9A-Fa-f:]*:)(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{0,4}(?![\w:])"
)
_CLOCK_TIME = re.compile(r"^\d{1,4}(?::\d\d){2,3}$")
_QUERY = re.compile(r"(?<=[\w/.*~-])[?#;][^\s\"'<>]*")
_PERSONAL = re.compile(
    r"user|login|email|ident|ip$|_ip|addr|forwarded|client|peer|body|prompt|content|message|cookie|authorization|referer|agent|session|header|query|args$|params",
    re.IGNORECASE,
)
_NOT_PERSONAL = re.compile(
    r"upstream|duration|time|bytes|length|size|status|code|count|latency|content[_-]?(?:length|type)|protocol|user_?agent_?none",
    re.IGNORECASE,
)


def log_lines(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines of an engine's log without prompts, answers, callers or credentials.

    A quotation that goes over several lines goes as a whole, up to the next line that starts as a
    log line does.
    """
    reader = _LogReader()
    read = reader.line
    for line in lines:
        if reader.is_idle and len(line) < _SHORTEST:
            yield line
        elif (kept := read(line)) is not None:
            yield kept


class _LogReader:
    """What of the lines before decides on the next: an open quotation, a key over several lines, a
    name whose value is still to come, the fields of a Secret.
    """

    def __init__(self) -> None:
        self._quoting = False
        self._in_key = False
        self._wrapped = False
        self._awaited = 0
        self._in_secret = False
        self._block_indent = -1

        self._harmless_shapes: set[str] = set()
        self.is_idle = True
        """Nothing of the lines before decides on the next."""

    def line(self, line: str) -> str | None:
        """Return the cleaned line; None for a line that goes without a trace.

        A shape of line that was left as it was is not searched again: most of a log is a few dozen
        shapes with other numbers in them.
        """
        shape = None
        if self.is_idle or (self._only_quotes() and _STARTS_RECORD.match(line)):
            line = without_caller(line)
            shape = _shape(line)
            if shape in self._harmless_shapes:
                self._quoting, self.is_idle = False, True
                return line
        cleaned = self._cleaned(line)
        self.is_idle = not (self._quoting or self._awaits())
        if shape is not None and self.is_idle and cleaned == line:
            if len(self._harmless_shapes) >= _MOST_SHAPES:
                self._harmless_shapes.clear()
            self._harmless_shapes.add(shape)
        return cleaned

    def _awaits(self) -> bool:
        """True if a secret that began on the lines before may go on."""
        return bool(
            self._in_key
            or self._wrapped
            or self._awaited
            or self._in_secret
            or self._block_indent >= 0
        )

    def _only_quotes(self) -> bool:
        return self._quoting and not self._awaits()

    def _cleaned(self, line: str) -> str | None:
        if (key := self._of_a_key(line)) is not None:
            return key
        starts = None
        if self._awaited:
            starts = _STARTS_RECORD.match(line) is not None
            if starts:
                self._awaited = 0
            elif (value := self._awaited_value(line)) is not None:
                return value
        if self._block_indent >= 0 or self._in_secret:
            starts = _STARTS_RECORD.match(line) is not None if starts is None else starts
            if starts or line.startswith("---"):
                self._in_secret, self._block_indent = False, -1
            elif (field := self._field(line)) is not None:
                return field
        self._open(line)
        if self._quoting and not (_STARTS_RECORD.match(line) if starts is None else starts):
            return None
        cleaned, self._quoting = without_content(line)
        self._wrapped = (
            cleaned.endswith((REDACTED, f"{REDACTED}."))
            or cleaned.strip(_AROUND_A_STRING) == REDACTED
        ) and _ENDS_IN_KEY.search(line[-200:]) is not None
        return cleaned

    def _of_a_key(self, line: str) -> str | None:
        """Return what a line of a private key or of a wrapped token becomes; None for another."""
        if "PRIVATE" in line and PEM_BEGINS.search(line):
            self._in_key = not PEM_ENDS.search(line)
            return _PEM_LINE.sub(REDACTED, clean(line))
        if line.startswith("$ANSIBLE_VAULT;"):
            self._wrapped = True
            return line
        if self._in_key:
            if not _STARTS_RECORD.match(line) or _KEY_LINE.search(line):
                self._in_key = not PEM_ENDS.search(line)
                return REDACTED
            self._in_key = False
        if line.startswith("Private-Lines:") or line.lstrip().startswith("Private-Lines:"):
            self._in_key = True
            return REDACTED
        if self._wrapped:
            if _GOES_ON.match(line):
                return REDACTED
            self._wrapped = False
        if (
            len(line) >= 40
            and " " not in line.strip()
            and _BARE_KEY_LINE.fullmatch(line)
            and not line.startswith("_Z")
            and is_random(line.strip("\"' \t,\\"), shortest=24)
        ):
            self._wrapped = True
            return REDACTED
        return None

    def _awaited_value(self, line: str) -> str | None:
        """Return what the line after a telling name becomes; None if it is no value."""
        if not line.strip():
            self._awaited -= 1
            return None
        if _COMMENT.match(line):
            return None
        nested = _NESTED_KEY.match(line)
        if (
            nested
            and nested["key"].lower() not in ("value", "v", "key")
            and secret_name(nested["key"]) is False
            and nested["rest"].strip() not in _BLOCK_MARKS
        ):
            self._awaited = 0
            return None
        if nested and nested["key"] == "key" and _WORDS.fullmatch(nested["rest"].strip()):
            self._awaited = 0  # a reference to a Secret: its name, then the name of its field
            return None
        if nested and nested["rest"].strip() in _BLOCK_MARKS:
            return line
        if _LIST_ITEM.match(line):
            return REDACTED
        self._awaited = 0
        self._wrapped = _GOES_ON.match(line) is not None and len(line.strip()) >= 40
        return REDACTED

    def _field(self, line: str) -> str | None:
        """Return what a line of a Secret's or a ConfigMap's fields becomes; None for another."""
        if self._block_indent < 0:
            return None
        indent = len(line) - len(line.lstrip())
        if line.strip() and indent <= self._block_indent:
            self._block_indent = -1
            return None
        found = _FIELD.match(line)
        if self._in_secret:
            return (
                f"{found['head']}{REDACTED}"
                if found
                else (f"{line[:indent]}{REDACTED}" if line.strip() else line)
            )
        if (
            found
            and found["value"]
            and _BASE64.fullmatch(found["value"])
            and (len(found["value"]) % 4 == 0 or is_random(found["value"], shortest=8))
        ):
            return f"{found['head']}{REDACTED}"
        return None

    def _open(self, line: str) -> None:
        """Note what this line begins: a block of fields, a name without its value."""
        if ":" in line:
            if "ecret" in line and _SECRET_KIND.search(line):
                self._in_secret = True
            if "ata" in line and (opens := _OPENS_DATA.match(line)):
                self._block_indent = len(opens["indent"])
        self._awaited = (
            2
            if (end := line[-200:].rstrip())
            and any(word in end.lower() for word in _SECRET_HINTS)
            and _opens_secret(end[-160:])
            else 0
        )


_SHORTEST = 3
"""Characters of the shortest line that can hold anything."""
_MOST_SHAPES = 4096
_LONGEST_SHAPE = 2048
_SMALL_NUMBER = re.compile(r"\b\d{1,3}\b")
_NUMBER = re.compile(r"\b\d{4,6}\b")
"""Longer numbers may be keys; the redaction tells 3 digits from 4, and 6 from 7."""
_REQUEST_ID = re.compile(
    r"(?<=cmpl-)(?:[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b"
)


def _shape(line: str) -> str | None:
    """Return the line with its numbers and its request's id made equal; None if a number may be
    a password.
    """
    if "@" in line or len(line) > _LONGEST_SHAPE:
        return None
    if "cmpl-" in line:
        line = _REQUEST_ID.sub("", line)
    return _NUMBER.sub("0000", _SMALL_NUMBER.sub("0", line))


_SECRET_HINTS = ("key", "token", "secret", "pass", "cred", "auth", "cookie", "bearer")
_AROUND_A_STRING = " \t\"'+,\\("
_ENDS_IN_KEY = re.compile(r"[A-Za-z0-9+/_=-]{8,}\.?[\"',\\]*\s*$")
_GOES_ON = re.compile(r"^[\s>|\"'+,-]*[A-Za-z0-9+/_=.-]{8,}[\"',\\]*\s*$")
_BARE_KEY_LINE = re.compile(r"[\s>|\"'+,-]*[A-Za-z0-9+/_-]{40,}={0,2}[\"',\\]*\s*")
_BLOCK_MARKS = ("", "|", ">", "|-", ">-", "|+", ">+")
_WORDS = re.compile(r"[a-z]{1,20}(?:[-_.][a-z]{1,20}){0,6}", re.IGNORECASE)
_COMMENT = re.compile(r"^\s*#")
_NESTED_KEY = re.compile(
    r"^\s*(?:-\s+)?\\*[\"']?(?P<key>[A-Za-z_][\w.-]{0,120})\\*[\"']?\s*[:=](?:\s|$)(?P<rest>.*)$"
)
_LIST_ITEM = re.compile(r"^\s*-\s+[^\s:=]+\s*$")
_FIELD = re.compile(
    r"^(?P<head>\s*[\"']?[\w./-]{1,253}[\"']?\s*:\s*(?:[|>][+-]?\s*$)?)[\"']?(?P<value>[^\"'\s]*)"
)
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{8,}={0,2}")
_SECRET_KIND = re.compile(r"\bkind[\"']?\s*:\s*[\"']?(?:Sealed)?Secret(?:List)?\b")
_OPENS_DATA = re.compile(
    r"^(?P<indent>\s*)[\"']?(?:data|stringData|encryptedData|binaryData)[\"']?:\s*$"
)


def _opens_secret(end: str) -> bool:
    """True if a line ends where the value of a telling name begins."""
    if (found := _OPENS_SECRET.search(end)) is None:
        return False
    name = found["name"] or found["flag"] or found["variable"]
    return name is None or telling(name) is Telling.SECRET


def access_lines(lines: Iterable[str]) -> Iterator[str]:
    """The lines of an access log without who asked, with what query and with which credential."""
    for line in lines:
        if line.lstrip().startswith("{"):
            try:
                document = json.loads(line)
            except (ValueError, RecursionError):
                yield _access_text(line)
            else:
                yield json.dumps(_access_value(document, ""), ensure_ascii=False)
        else:
            yield _access_text(_common(line))


_COMMON = re.compile(r"^(?P<who>\S+ \S+ .*?)(?P<when> \[[^\]]{8,40}\] )(?P<rest>.*)$")
_TAIL = re.compile(
    r"(?P<request>\"(?:[^\"\\]|\\.)*\" \d{3} \S+)(?P<people>(?: \"(?:[^\"\\]|\\.)*\"){1,2})(?P<rest>.*)$"
)


def _common(line: str) -> str:
    """A line of the common or combined form with the caller, the user, the referrer and the agent
    taken out.
    """
    found = _COMMON.match(line)
    if not found:
        return line
    rest = (
        _TAIL.sub(r'\g<request> "-" "-"\g<rest>', found["rest"])
        if _TAIL.match(found["rest"])
        else found["rest"]
    )
    return f"0.0.0.0 - -{found['when']}{rest}"


def _access_text(text: str) -> str:
    def address(match: re.Match[str]) -> str:
        return match[0] if _CLOCK_TIME.match(match[0]) else "0.0.0.0"

    return clean(_IPV6.sub(address, _IPV4.sub("0.0.0.0", _QUERY.sub("", text))))


def _access_value(value: Any, key: str) -> Any:
    match value:
        case dict():
            return {str(name): _access_value(item, str(name)) for name, item in value.items()}
        case list():
            return [_access_value(item, key) for item in value]
        case str() if key and (
            secret_name(key) or (_PERSONAL.search(key) and not _NOT_PERSONAL.search(key))
        ):
            return REDACTED if value not in ("", "-") else value
        case str():
            return _access_text(value)
        case _:
            return value
