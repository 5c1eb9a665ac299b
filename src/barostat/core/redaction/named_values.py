# ruff: noqa: E501  (a pattern that is broken over lines is harder to read than a long one)
"""Finds values of variables with telling names, in any notation: `NAME=v`, `"name": "v"`,
`environ['NAME']='v'`, `getenv("NAME", "v")`, `SecretStr('v')`, `--name v`, `<name>v</name>`, `|
NAME | v |`.

Makes one pass over the text: each telling name is visited once, its value is read up to the closing
quote or bracket or to the end of the value, and the pass continues after it.
"""

from __future__ import annotations

import re
from functools import lru_cache

from barostat.core.redaction.key_shapes import is_random, looks_like_a_key
from barostat.core.redaction.names import Telling, telling

REDACTED = "[redacted]"

_NAME = re.compile(r"[A-Za-z_][\w.$@-]*")
_MAY_TELL = re.compile(
    r"key|token|secret|pass|pwd|pw|pat|auth|jwt|dsn|sig|cred|cookie|bearer|sess|sid|otp|psk|hmac|conn|docker|otlp|honey|etcd|nonce|sas|code|crumb|salt|pin|srf|phrase|mnemonic",
    re.IGNORECASE,
)
_EQUALS = (
    r"(?:#\s?=>|[=!]==?|:=|\u2192|\|\|=?|\?\?=?|=>|->|::?=?|=|&#(?:61|58|x3[da]);|&(?:equals|colon);"
    r"|%(?:25)?3[da]|\\(?:u00|x)3[da])"
)
"""Separators between a name and its value, including those of code, HTML, URLs and JSON."""
_BETWEEN = re.compile(
    rf"(?:\[\d{{0,9}}\])?\\{{0,8}}[\"'`]?\s{{0,64}}[\]\)]?(?:(?:\[\d{{0,9}}\])?\s{{0,64}}:\s{{0,9}}[A-Za-z]\w{{0,40}}(?:\[[\w, |]{{0,60}}\])?\s{{0,9}}(?==\s)|,\s?\w{{1,20}}\s(?=:=))?\s{{0,64}}(?P<sign>{_EQUALS})(?P<gap>\s{{0,64}})",
    re.IGNORECASE,
)
_LISTED = re.compile(
    r"(?:\\{0,8}[\"'`]\s?(?:,|[\])]{1,2}\s?(?:or|\|\||\?\?)(?=\W))|(?<=\w),)\s{0,64}(?:default\s?=\s?)?(?=b?\\{0,8}[\"'`])"
)
"""A quoted name, a comma, a quoted value: an argument list, a tuple, a call and the operand after
its `or`.
"""
_CALLED = re.compile(r"\((?=\s?[bfru]{0,2}\\{0,8}[\"'`]|\s?\w{1,20}\()")
_TABLE = re.compile(
    r"\\{0,8}[\"'`]?(?:[ \t]*\|[ \t]*|\t[ \t]*| ?\.{3,} ?|(?:\\[rnt]){1,4}|,)(?=\S)"
)
_DIRECTIVE = re.compile(r"(?:^|\n)[ \t>#]{0,40}\Z")
_LAST_WORD = re.compile(r"(?P<value>[^\s\"'`\[\](){}<>]{6,256})[ \t]*(?=\r?\n|\Z)")
"""`bindpw X`, `PASS X`: a line of a name and one word."""
_CELL = re.compile(r"(?P<value>(?=\S*\d)(?=\S*[^\W\d])[^\s|]{6,256})[ \t]*\|")
"""A cell of one word with a letter and a digit."""
_BYTES = re.compile(
    r"\[(?:(?:3[2-9]|[4-9]\d|1[01]\d|12[0-6])(?:, ?| )){7,4096}(?:3[2-9]|[4-9]\d|1[01]\d|12[0-6])\]"
)
"""A text that Go prints as the numbers of its bytes."""
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_ITEM = re.compile(
    r"\"?\s?\{\s{0,64}(?:\w{1,40}\s{0,9}=\s{0,9}[\w\"]{1,80}\s{1,64}){0,4}default\s{0,9}=\s{0,9}|\\{0,8}[\"'`]?\s{0,64},?(?:\s{0,64}#[^\n]{0,400}\n)?\s{0,64}-?\s{0,64}(?:\\{0,8}[\"'`])?(?<![\w-])value(?:\\{0,8}[\"'`])?\s{0,64}[:=]\s{0,64}",
    re.IGNORECASE,
)
"""An entry of `env:` in YAML, JSON, XML, Go or Terraform: the name, then the value."""
_ELEMENT = re.compile(
    r"(?:[\"']?\s?>|</(?:name|key)>\s{0,64}<(?:value|string)>)(?:<!\[CDATA\[)?(?P<value>[^<\n]{1,4096})(?=\]\]>|<)"
)
_BLANKS = re.compile(
    r"(?:[ \t]{1,64}|\\{0,8}[\"']?[ \t]{0,64}\\?\n\s{0,64}(?:-\s{1,9})?)(?![-|&;<>\n])(?=\S)"
)
_AND_TO = re.compile(r"\s+(?:to|is|was|of)\s?:?\s+", re.IGNORECASE)
_BEFORE_VALUE = re.compile(
    r"(?:[|>][+-]?\d?[ \t]*\n\s{0,64})?(?:\\\n\s{0,64})?(?:-\s{1,9})?(?:(?:!!?|&(?!amp;|quot;))\w*\s{1,9})?(?:@|[bfrulRBU]{1,2})?(?=\\{0,8}[\"'`])"
    r"|(?:[|>][+-]?\d?[ \t]*\n\s{0,64})?(?:\\\n\s{0,64})?(?:-\s{1,9})?(?:(?:!!?|&(?!amp;|quot;))\w*\s{1,9})?"
)
_OPEN_QUOTE = re.compile(r"(?P<escape>\\{0,8})(?P<quote>\"\"\"|'''|[\"'`]|&quot;|&#34;|&#39;)")
_ODBC = re.compile(r"\{(?:[^{}\"'\n]|\}\}){1,128}\}(?=;)")
_CONSTRUCTOR = re.compile(r"(?:&?[A-Za-z_][\w.:]{0,60})?[\[({]")
_OR_ELSE = re.compile(r"\s?(?:or|\|\||\?\?|else)\s?(?=[\"'])")
"""`os.environ.get("PW") or "the default"`."""
_BARE = re.compile(r"[^\s\"'`\]\)}]*")
_NEXT_NAME = re.compile(r"[,;&|]\s?\\{0,8}[\"']?[\w.-]{1,80}\\{0,8}[\"']?\s?[=:](?!=)")
_NESTED = re.compile(r"[\"']?[A-Za-z_][\w.-]{0,120}[\"']?[ \t]{0,9}[:=](?:\s|$)|-\s[\w.-]+:\s")
_SCHEME = re.compile(
    r"(?:bearer|basic|digest|token|api-?key|negotiate|ntlm|hawk|oauth|sharedaccesssignature|aws4-[\w-]+)[ \t]+(?=\S)",
    re.IGNORECASE,
)
_HEADER = re.compile(
    r"^(?:proxy-?)?authorization$|^(?:set-?)?cookies?$|-(?:signature(?:-256)?|cookie)$",
    re.IGNORECASE,
)
"""A header's value goes to the end of the line, blanks and commas included."""
_HARMLESS = frozenset(
    {"none", "null", "nil", "?", "true", "false", "~", "[]", "{}", "()", "redacted", "", "is", "must", "yes", "no", "on", "off", "undefined", "optional", "required", "str", "string", "any", "bytes", "missing", "invalid", "unset", "enabled", "disabled", "include", "omit", "default", "auto", "expired", "revoked", "rejected", "accepted", "valid", "present", "absent", "refreshed", "unknown", "empty", "failed", "ok", "denied"}
)  # fmt: skip
"""No secrets; `is` and `must` begin our own sentences about a field: `request.maxOutputToken: is no
known key`.
"""
PLACEHOLDER = re.compile(
    r"<[|/]{0,2}[A-Za-z_][A-Za-z_ -]{0,38}\|?>|<set to the key '[\w.-]{1,253}' (?:in|of) [a-z ]{1,20} '[\w.-]{1,253}'>|(?:secret|configmap) \"[\w.-]{1,253}\" not found|\$\((?:cat|<) ?[\w./-]{1,200}\)|\$\{[A-Za-z_]\w*(?::?\?[\w .-]{0,80}|:?-)?\}|!(?:vault|reference|Ref|Sub|GetAtt)\b|(?:os\.)?(?:getenv|environ(?:\.get)?)[\[(][\"']\w{1,80}[\"'][\])](?!\s?(?:or\b|\|\|))|\[[A-Z]{2,12}\]|\[redacted\]|(?:YOUR|MY|INSERT|ENTER|REPLACE|CHANGE)[_-](?:[A-Z]{1,12}[_-]){0,5}(?:KEY|TOKEN|SECRET|PASSWORD|HERE|ME)|[a-z_]+(?:\.[a-z_]+)+\((?:[a-z_]+(?:, ?[a-z_]+)*)?\)|[a-z_]+\([a-z_]+(?:, [a-z_]+)+\)|[A-Za-z_]+\((?:self\.)?[a-z]+(?:[._][a-z]+)+\)|(?:your|insert|replace|my)[_-](?:[a-z]{1,12}[_-]){0,5}(?:key|token|secret|password)(?:[_-]here)?|SIG[A-Z]{2,6}|[|>][+-]?|\$\{?[A-Z_][A-Z0-9_]*\}?|\$\([A-Z_][A-Z0-9_]*\)|\$\{?[a-z_]+\}?|\$\{\{[^{}]{1,80}\}\}|\{\{[^{}]{1,80}\}\}|%\(?[\w]*\)?[sdr]|\*+|\.{3,}|x{3,}"
    r"|[\[{ ]*[\"']?(?:secretName|name)[\"']?: ?[\"']?[\w.-]{1,253}[\"']?(?:, ?[\"']?key[\"']?: ?[\"']?[\w.-]{1,80}[\"']?)?[\]} ]*"
    r"|\(\w+: ?[A-Za-z]\w*(?:, ?\w+: ?[A-Za-z]\w*)*\)"
)
"""Placeholders that are not secrets: special tokens, signals, variables, YAML block indicators, the
name of a Secret, parameter types.
"""
_AMOUNT = re.compile(
    r"-?(?:\d{1,3}|\d{1,9}\.\d{1,6}|\d{1,9}(?=%|ms|us|s|h|/s|[KMGT]i?B))(?:%|ms|us|s|m|h|/s|[kKMGT]i?B?)?"
)
_PATH = re.compile(r"(?:\.{0,2}|~)/[\w.@-]+(?:/[\w.@-]+)*/?")
_FILE = re.compile(
    r"(?:[\w-]+/)*[\w-]{1,40}\.(?:txt|key|pem|crt|cert|json|ya?ml|toml|ini|cfg|conf|p12|jks|py)|[A-Z][A-Z_]{1,30}\]?"
)
"""A file, or what a page of help puts in its place: `FILE`, `API_KEY`."""
_PHRASED = re.compile(r"passw|passphrase|passcode|pwd|pw$", re.IGNORECASE)
_WORDS_ONLY = re.compile(r"[A-Za-z][a-z]*(?:[-_. /][A-Za-z]?[a-z]+){0,12}")
_SENTENCE = re.compile(
    r"(?:expected|is|was|has|and|or|to|in|for|must|not|needs?|with|given|from|may|can|cannot|requires?|flag|the|a|an|no|if|of|on|by|are|at|as|but|be|only|when|option|argument|will|should|does)\b",
    re.IGNORECASE,
)
_PROSE = re.compile(
    r"[A-Za-z][a-z]*(?: |[,.;] )[A-Za-z]?[a-z]*(?:[ .,;]|$)|[A-Z]{2,5} [a-z]+ |(?:def|func|fn|raise|return) \w"
)
_LONGEST_HARMLESS = 300


def without_named(text: str) -> str:
    """Return the text with every value beside a telling name replaced."""
    if not _MAY_TELL.search(text):
        return text
    pieces: list[str] = []
    done = at = 0
    while (found := _NAME.search(text, at)) is not None:
        at = found.end()
        name = found[0].rstrip(".-")
        if (
            len(name) < 2
            or not _MAY_TELL.search(name, max(0, len(name) - 160))
            or (level := telling(name)) is Telling.NOTHING
            or (name.lower() == "token" and _of_a_model(text, found.start()))
        ):
            continue
        begin = found.start()
        for start, end, kept in _values(text, begin, begin + len(name), name, level):
            if start >= done:
                pieces += (text[done:start], kept)
                done = end
                at = max(at, end)
    return "".join((*pieces, text[done:])) if pieces else text


def value_at(text: str, start: int) -> list[tuple[int, int, str]]:
    """Return (start, end, replacement) of the secret that begins here; empty if it is none."""
    return _value(text, start, Telling.SECRET)


def _of_a_model(text: str, begin: int) -> bool:
    """True for the token of a sentence about text: "time per token: 40 ms"."""
    before = _WORD_BEFORE.search(text, max(0, begin - 24), begin)
    return before is not None and telling(f"{before[1]}_token") is Telling.NOTHING


_WORD_BEFORE = re.compile(r"([A-Za-z]{1,20}) \Z")


def _values(
    text: str, begin: int, end: int, name: str, level: Telling
) -> list[tuple[int, int, str]]:
    """Return (start, end, replacement) of what the name's value is; empty if it has none."""
    flag = text[begin - 1 : begin] == "-" and (begin < 2 or not text[begin - 2].isalnum())
    if text[end : end + 1] in (" ", "\t") and text.startswith("- ", end + 1):
        return []
    if (between := _BETWEEN.match(text, end)) is not None:
        return _assigned(text, begin, between, name, level, flag)
    if (item := _ITEM.match(text, end)) is not None:
        return _value(text, item.end(), level)
    if (listed := _LISTED.match(text, end)) is not None:
        quoted = text[begin - 1 : begin] in ("'", '"', "`", "-", "/", ":")
        return _quoted(text, listed.end(), level, plain_words=flag or "-" in name) if quoted else []
    if (called := _CALLED.match(text, end)) is not None and telling(name) is Telling.SECRET:
        return _bracketed(text, called.start(), level, call=True)
    if (element := _ELEMENT.match(text, end)) is not None:
        start, stop = element.span("value")
        return [] if _may_stay(element["value"], level) else [(start, stop, REDACTED)]
    if (table := _TABLE.match(text, end)) is not None and level is Telling.SECRET:
        if "|" in table[0] and (cell := _CELL.match(text, table.end())) is not None:
            return [(*cell.span("value"), REDACTED)]
        return _loose(text, table.end(), level)
    if flag and (blanks := _BLANKS.match(text, end)) is not None and level is Telling.SECRET:
        return _flagged(text, blanks.end(), name)
    if (to := _AND_TO.match(text, end)) is not None:
        if ":" in to[0] and level is Telling.SECRET:
            return _sentence(text, to.end())
        return _loose(text, to.end(), level)
    if (blanks := _BLANKS.match(text, end)) is not None:
        directive = level is Telling.SECRET and _DIRECTIVE.search(text, max(0, begin - 64), begin)
        word = _LAST_WORD.match(text, blanks.end()) if directive else None
        if word is not None and looks_like_a_key(word["value"]):
            return [(*word.span("value"), REDACTED)]
        return _loose(text, blanks.end(), level)
    return []


def _assigned(
    text: str, begin: int, between: re.Match[str], name: str, level: Telling, flag: bool
) -> list[tuple[int, int, str]]:
    start = between.end()
    if "\n" in between["gap"]:
        line = text[start : start + 400].split("\n", 1)[0]
        if _NESTED.match(line):
            return _random_fields(text, start, hashes=level is Telling.SECRET)
        if " " in line.strip(" -") and line.lstrip("- ")[:1] not in "\"'":
            return []
    if _HEADER.search(name) and between["sign"] in (":", "=", "=>"):
        value = _to_end_of_header(text, begin, start)
        if value is not None:
            return value
    if (scheme := _SCHEME.match(text, start)) is not None:
        start_of_word = scheme.end()
        found = _value(text, start_of_word, Telling.SECRET)
        return [(start, found[0][1], REDACTED)] if found else []
    if "\n" in between["gap"] and text.startswith("- ", start):
        return _items(text, start, level)
    if flag and between["sign"] == ":" and _SENTENCE.match(text, start):
        return []
    last_part = name.rsplit(".", 1)[-1]
    if text.startswith(last_part, start) and not _WORD_GOES_ON.match(text, start + len(last_part)):
        return []  # `self.api_key = api_key`
    described = between["sign"] == ":" and name.isupper() and _COLUMN.fullmatch(between["gap"])
    if level is Telling.SECRET and (_PHRASE.search(name) or described):
        return _to_end_of_line(text, start)
    if between["sign"] == ":" and not _PHRASED.search(name) and _PROSE.match(text, start):
        return []
    return _value(text, start, level)


_PHRASE = re.compile(r"phrase|mnemonic", re.IGNORECASE)
_WORD_GOES_ON = re.compile(r"[\w.-]*\w")
_QUOTE = re.compile(r"[\"'`]")
_COLUMN = re.compile(r"[ \t]{2,64}")
"""Between a name and its value in `kubectl describe`: the value goes to the end of the line."""


def _to_end_of_line(text: str, start: int) -> list[tuple[int, int, str]]:
    """Return a value of several words, as a passphrase has."""
    if _OPEN_QUOTE.match(text, start) or _stands_for_a_value(text, start):
        return _value(text, start, Telling.SECRET)
    first = _bare(text, start, Telling.SECRET)
    if not first:
        return []
    stops = text.find("\n", start)
    end = len(text) if stops < 0 else stops
    if (quote := _QUOTE.search(text, start, end)) is not None:
        end = max(quote.start(), first[0][1])
    return [(start, start + len(text[start:end].rstrip()), REDACTED)]


_MOST_ITEMS = 64
_ITEM_LINE = re.compile(r"[ \t]{0,64}-[ \t]{1,9}(?P<value>[^\n]+)(?:\n|$)")
_FIELD_LINE = re.compile(
    r"[ \t]{0,64}[\"']?[\w.-]{1,120}[\"']?[ \t]{0,9}:[ \t]{1,9}(?P<value>\S+)[ \t]*(?:\n|$)"
)


def _items(text: str, start: int, level: Telling) -> list[tuple[int, int, str]]:
    """Return the values of a list of YAML below a telling name."""
    found: list[tuple[int, int, str]] = []
    for _ in range(_MOST_ITEMS):
        if (item := _ITEM_LINE.match(text, start)) is None:
            break
        found += _value(text, item.start("value"), level)
        start = item.end()
    return found


def _random_fields(text: str, start: int, *, hashes: bool) -> list[tuple[int, int, str]]:
    """Return the values of a mapping below a telling name that look like keys: `tokens:` and a
    tenant a line.
    """
    found: list[tuple[int, int, str]] = []
    for _ in range(_MOST_ITEMS):
        if (field := _FIELD_LINE.match(text, start)) is None:
            break
        begin, end = field.span("value")
        if is_random(text[begin:end].strip("\"',"), shortest=10, hashes=hashes):
            found.append((begin, end, REDACTED))
        start = field.end()
    return found


def _to_end_of_header(text: str, begin: int, start: int) -> list[tuple[int, int, str]] | None:
    """Return the value of a header to the end of its line, or to the quote that encloses both;
    None if it is a quoted or bracketed value of its own.
    """
    if _OPEN_QUOTE.match(text, start) or text[start : start + 1] in "[{(":
        return None
    before = text[begin - 1 : begin]
    stops = text.find("\n", start)
    end = len(text) if stops < 0 else stops
    if before in ("'", '"', "`"):
        closing = text.find(before, start, end)
        end = closing if closing >= 0 else end
    elif (quote := re.compile(r"\\{0,8}[\"'](?=[\s,\]})]|$)").search(text, start, end)) is not None:
        inner = text[start : quote.start()]
        if inner.count('"') % 2 == 0 and inner.count("'") % 2 == 0:
            end = quote.start()
    value = text[start:end].strip()
    if not value or value == REDACTED or _may_stay(value, Telling.SECRET):
        return []
    if (scheme := _SCHEME.match(value)) is not None and PLACEHOLDER.fullmatch(
        value[scheme.end() :]
    ):
        return []
    if value.startswith(f"{REDACTED}") and len(value) < len(REDACTED) + 4:
        return []
    if _WORDS_ONLY.fullmatch(value) and _SENTENCE.search(value):
        return []
    return [(start, end, REDACTED)]


def _value(text: str, start: int, level: Telling) -> list[tuple[int, int, str]]:
    """Read the value that begins here: quoted, bracketed, constructed or bare."""
    if (before := _BEFORE_VALUE.match(text, start)) is not None:
        start = before.end()
    if _stands_for_a_value(text, start):
        return []
    if _OPEN_QUOTE.match(text, start):
        return _quoted(text, start, level, plain_words=True)
    if (braced := _ODBC.match(text, start)) is not None and "}}" in braced[0]:
        return [(start, braced.end(), REDACTED)]
    if (constructor := _CONSTRUCTOR.match(text, start)) is not None and not text.startswith(
        ("[redacted]", "{{"), start
    ):
        found = _bracketed(text, constructor.end() - 1, level)
        stop = found[0][1] if found else 0
        if found and text[stop : stop + 1] == "(":  # a Go conversion: (*string)("...")
            stop = (
                _bracketed(text, stop, level, call=True)[0][1] if level is Telling.SECRET else stop
            )
        if found and (stop >= len(text) or not (text[stop].isalnum())):
            if (other := _OR_ELSE.match(text, stop)) is not None:
                otherwise = _quoted(text, other.end(), level, plain_words=True)
                stop = otherwise[0][1] + 1 if otherwise else stop
            return [(start, stop, REDACTED)]
        if not found and not (text[start].islower() and constructor[0].endswith("{")):
            return []
    return _bare(text, start, level)


def _stands_for_a_value(text: str, start: int) -> bool:
    """True for a placeholder, or the call that reads a variable, up to where a value may end."""
    whole = PLACEHOLDER.match(text, start)
    if whole is None or whole.end() == start:
        return False
    after = text[whole.end() : whole.end() + 1]
    return not after or after.isspace() or after in "\"'`,;)]}"


def _quoted(
    text: str, start: int, level: Telling, *, plain_words: bool
) -> list[tuple[int, int, str]]:
    start += 1 if text[start : start + 1] == "b" else 0
    opening = _OPEN_QUOTE.match(text, start)
    if opening is None:
        return []
    closing = _closing(opening["escape"], opening["quote"]).search(text, opening.end())
    end = closing.start() if closing else len(text)
    if end - opening.end() <= _LONGEST_HARMLESS:
        inner = text[opening.end() : end]
        if _may_stay(inner, level) or (
            not plain_words and _WORDS_ONLY.fullmatch(inner.replace("_", "-"))
        ):
            return []
    return [(opening.end(), end, REDACTED)]


_SINGLE_CLOSING = r"(?<!\\)(?:\\\\)*(?P<q>(?<!\w{0}){0}(?!{0}\w))"
"""A quote that is doubled between letters stands for itself: YAML, SQL, CSV."""


@lru_cache(maxsize=64)
def _closing(escape: str, quote: str) -> re.Pattern[str]:
    """Match the closing quote of the same level of escapes."""
    if not escape:
        return re.compile(_SINGLE_CLOSING.format(quote) if len(quote) == 1 else quote)
    return re.compile(rf"(?<!\\)\\{{1,{len(escape)}}}{quote}")


_BRACKET = re.compile(r"[\[\](){}]|\"(?:[^\"\\]|\\.){0,4096}\"|'(?:[^'\\]|\\.){0,4096}'")


def _bracketed(
    text: str, start: int, level: Telling, *, call: bool = False
) -> list[tuple[int, int, str]]:
    """Read a group in brackets to its closing bracket, quotes honoured; to the end without one."""
    if level is Telling.MAYBE:
        return []
    depth = 0
    end = len(text)
    for found in _BRACKET.finditer(text, start):
        if found[0] in "[({":
            depth += 1
        elif found[0] in "])}":
            depth -= 1
            if depth <= 0:
                end = found.end()
                break
        if found.start() - start > _LONGEST_HARMLESS * 64:
            break
    if end - start <= _LONGEST_HARMLESS:
        inner = text[start:end]
        if not _BYTES.fullmatch(inner) and (
            _may_stay(inner, level)
            or _may_stay(inner[1:-1], level)
            or re.fullmatch(
                r"[\[({](?:\d{1,6}(?!\d)|[\s,.\-\"']|\\{0,8}[\"']\w+\\{0,8}[\"']: |True|False|None|null|true|false)*[\])}]",
                inner,
            )
        ):
            return []
        if call and _WORDS_ONLY.fullmatch(inner[1:-1].strip("\"'` ")):
            return []
        names = re.findall(r"[\w.-]+", inner)
        if (
            inner[0] == "{"
            and len(names) <= 4
            and all(
                n in ("name", "key", "secretName", "optional", "true", "false")
                or _WORDS_ONLY.fullmatch(n)
                for n in names
            )
        ):
            return []
    if call:
        return [
            (start + 1, end - (1 if end > start + 1 and text[end - 1] in ")]}" else 0), REDACTED)
        ]
    return [(start, end, REDACTED)]


def _bare(text: str, start: int, level: Telling) -> list[tuple[int, int, str]]:
    """Read an unquoted value up to the next blank, including punctuation that passwords may
    contain, and any following words that look like keys.
    """
    end = _end_of_bare(text, start)
    value = text[start:end]
    if not value or _may_stay(value, level):
        return []
    line = text.find("\n", end)
    rest = text[end : min(end + 160, line if line >= 0 else len(text))]
    if level is Telling.SECRET and rest[:1] == " " and rest[1:2] in ("'", '"'):
        quoted = _quoted(text, end + 1, level, plain_words=False)
        return [(start, quoted[0][1], REDACTED)] if quoted else [(start, end, REDACTED)]
    if level is Telling.SECRET and rest[:1] == " " and rest[1:2].isalnum():
        reach = 0
        at = 0
        for word in rest.split(" ")[1:7]:
            at += 1 + len(word)
            if (
                "=" in word[:40]
                or word[:1] in "-/[(<{"
                or word.endswith(":")
                or word in ("-", "|", "&&", ";")
            ):
                break
            if looks_like_a_key(word.strip(".,;\"'")) and is_random(
                word.strip(".,;\"'"), shortest=8
            ):
                reach = at
        end += reach
    return [(start, end, REDACTED)]


def _end_of_bare(text: str, start: int) -> int:
    at = start
    limit = len(text)
    if _stands_for_a_value(text, start):
        return PLACEHOLDER.match(text, start).end()  # type: ignore[union-attr]
    while at < limit:
        at = _BARE.match(text, at).end()  # type: ignore[union-attr]
        if at >= limit or text[at].isspace():
            break
        if text[at] == "]" and text.endswith(REDACTED, max(start, at - len(REDACTED) + 1), at + 1):
            at += 1  # a part of the value went before
            continue
        follows = text[at + 1 : at + 2]
        if not follows or not (follows.isalnum() or follows in "([$!@#%^&*_-"):
            break  # a quote or bracket that closes something around the value
        if text[at] in "\"'`" and at > start and text[at - 1] == "\\":
            break
        at += 1
    end = at
    if (nearest := _NEXT_NAME.search(text, start, end + 80)) is not None and nearest.start() < end:
        end = nearest.start()
    while end > start and text[end - 1] in ",;\\":
        end -= 1
    return end


def _flagged(text: str, start: int, name: str) -> list[tuple[int, int, str]]:
    """Read the value of a flag behind a blank, unless it is a sentence about the flag."""
    if _OPEN_QUOTE.match(text, start):
        return _quoted(text, start, Telling.SECRET, plain_words=True)
    if text.startswith("(", start):
        return _bracketed(text, start, Telling.SECRET)
    end = start + len(re.compile(r"[^\s\"'`]*").match(text, start)[0])  # type: ignore[index]
    word = text[start:end]
    if (
        _SENTENCE.fullmatch(word.rstrip(".,:"))
        or _FILE.fullmatch(word)
        or _may_stay(word, Telling.SECRET)
        or re.fullmatch(r"\[?[A-Z_]*(?:KEY|TOKEN|SECRET|PASSWORD)\]?.*", word)
        or (word[:1] == "[" and not word.startswith(REDACTED))
    ):
        return []
    if "key" in name.lower():
        more = re.compile(
            r"(?:(?:[ \t]+|[ \t]*\\\n[ \t]*)(?![-&|;<>\\\[(])[^\s'\"]*\d[^\s'\"]*)+"
        ).match(text, end)
        end = more.end() if more is not None else end
    return [(start, end, REDACTED)]


def _loose(text: str, start: int, level: Telling) -> list[tuple[int, int, str]]:
    """Read the word after a blank or in the next column of a table, if it looks like a key."""
    if _OPEN_QUOTE.match(text, start):
        found = _quoted(text, start, level, plain_words=False)
        value = text[found[0][0] : found[0][1]] if found else ""
        return found if looks_like_a_key(value) or is_random(value, hashes=True) else []
    end = _end_of_bare(text, start)
    word = text[start:end].rstrip(".")
    if (
        level is Telling.SECRET
        and not _may_stay(word, level)
        and (is_random(word, shortest=12, hashes=True) or _UUID.fullmatch(word))
    ):
        return [(start, start + len(word), REDACTED)]
    return []


def _sentence(text: str, start: int) -> list[tuple[int, int, str]]:
    """Read a phrase of several words, as far as one of them looks like a key."""
    if _OPEN_QUOTE.match(text, start):
        return _quoted(text, start, Telling.SECRET, plain_words=True)
    line = text.find("\n", start)
    phrase = text[start : min(start + 160, line if line >= 0 else len(text))]
    return (
        [(start, start + len(phrase), REDACTED)]
        if any(is_random(word.strip(".,;"), shortest=8) for word in phrase.split(" ")[:8])
        else []
    )


def _may_stay(value: str, level: Telling) -> bool:
    """Return True for values that are not secrets: empty, a switch, an amount, a path, a
    placeholder; after a merely suspicious name, anything that does not look like a key.
    """
    bare = value.strip().strip("\"'`").rstrip(",")
    if len(bare) > _LONGEST_HARMLESS:
        return False
    if (
        bare.lower() in _HARMLESS
        or PLACEHOLDER.fullmatch(bare)
        or _AMOUNT.fullmatch(bare)
        or (REDACTED in bare and len(bare) < len(REDACTED) + 10)
    ):
        return True
    if level is Telling.MAYBE:
        return not is_random(bare, shortest=12) and REDACTED not in bare
    return bool(
        _PATH.fullmatch(bare)
        and not is_random(bare.rsplit("/", 1)[-1], shortest=16)
        and bare.count("/") > 1
    )
