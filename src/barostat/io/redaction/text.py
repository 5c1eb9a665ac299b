"""What may leave a machine in a bundle: logs without prompts, access logs without people, texts
without credentials.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from barostat.core.redaction.credentials import REDACTED, clean, secret_name

_QUOTED = r"\"(?:[^\"\\]|\\.)*(?:\"|$)|'(?:[^'\\]|\\.)*(?:'|$)"
_STARTS_RECORD = re.compile(
    r"^(?:(?:\x1b\[[0-9;]*m)*\([^)]{1,60}\)\s*){0,3}(?:\x1b\[[0-9;]*m)*"
    r"(?:(?:DEBUG|INFO|WARNING|ERROR|CRITICAL|TRACE)\b|\d{4}-\d\d-\d\d|\[?\d\d:\d\d|\{\"|Traceback \(|[\w.]+(?:Error|Exception)\b)"
)
_REQUEST = re.compile(
    r"(?P<head>.*?\b(?:Received|Added|Generated|Finished) (?:request|response) [\w./-]{1,120})(?P<rest>.*)$",
    re.DOTALL,
)
_REQUEST_NUMBERS = re.compile(r"\b(?:n|max_tokens|min_tokens|max_completion_tokens)=(?:\d+|None)\b")
_CONTENT_KEY = (
    r"prompts?|content|contents|messages?_content|messages|text|texts|input|inputs|input_value|input_text|query|documents|output|outputs|output_text"
    r"|completion|generated_text|reasoning|reasoning_content|arguments|tool_calls|body|raw_body|raw_request|request_body|response_body|stop|suffix|system"
    r"|instructions?|image_url|audio_url|video_url|multi_modal_data|mm_data|(?:\w+_)?token_ids|input_ids|prompt_embeds|guided_(?:json|choice|regex|grammar|decoding)"
    r"|json_schema|structured_outputs|bad_words|tools|chat_template_kwargs|extra_args|cache_salt|mm_inputs|conversations?|logprobs|user"
)
_CONTENT = re.compile(
    rf"(?<![\w.-])(?P<key>\\*[\"']?(?:{_CONTENT_KEY})\\*[\"']?)(?P<between>\s*[=:]\s*)"
    rf"(?P<value>\\+[\"'].*$|[bfru]{{0,2}}(?:'{{3}}.*$|\"{{3}}.*$|{_QUOTED})|[\u201c\u00ab].*$|\[[\d\s,.-]*\]|\([\d\s,.-]*\)|(?:\w+\()?[\[{{(].*$|\w+Params\(.*$)",
    re.IGNORECASE,
)
_QUOTES = re.compile(
    r"[=:]\s*(?:\w+\()?\\*[bfru]{0,2}[\"'\[{(\u201c\u00ab]"
    r"|<\||\[INST\]|<start_of_turn>|\b[Pp]rompt ['\"]|fields were present|compile (?:regex|grammar) '|tool call"
)
_CONTENT_HINT = re.compile(
    rf"(?:{_CONTENT_KEY})\\*[\"']?\s*[=:]\s*(?:\w+\(|\\*[bfru]{{0,2}}[\"']|[\[{{(\u201c\u00ab])",
    re.IGNORECASE,
)
_TEMPLATED = re.compile(
    r"(?:<\|(?:im_start|begin_of_text|start_header_id|user|system)\|>|\[INST\]|<start_of_turn>)(?![\"',\])}])"
)
"""A prompt as the model sees it, behind the marks of a chat template."""
_SAID = re.compile(
    rf"(?P<head>\bprompt |present in the request but ignored: |compile (?:regex|grammar) |JSON schema: "
    rf"|tool calls?[\w ]{{0,30}}: )(?:{_QUOTED}|[\[{{].*$)",
    re.IGNORECASE,
)
"""What a request said, in a sentence of the engine's."""
_SPOKEN = re.compile(
    r"(?P<head>\b(?:prompt|template|decod\w+|tokeniz\w+|pars(?:e|ing)|tool call|input|message|generated|output)\b[^\"'\n]{0,80}:\s*)"
    rf"(?P<value>b?(?:{_QUOTED}))",
    re.IGNORECASE,
)
_PEM_LINE = re.compile(r"-----BEGIN.*")
_KEY_LINE = re.compile(r"(?:^|[\s\"])[A-Za-z0-9+/]{16,}={0,2}[\"\s]*$|-----END")
"""A line of a key behind the stamps of whoever passed it on."""
_SECRET_WORD = r"[\w.-]{0,80}(?:api[_-]?key|secret(?:[_-]?access)?(?:[_-]?key)?s?|token|passw(?:or)?ds?|passphrase|credentials?)"
_OPENS_SECRET = re.compile(
    rf"(?:(?<![\w.-]){_SECRET_WORD}[\"']?\s*:\s*(?:[|>][+-]?)?|(?<![\w-])--{_SECRET_WORD}|\bname[\"']?:\s*[\"']?{_SECRET_WORD}[\"']?,?)\s*$",
    re.IGNORECASE,
)
"""A line that ends where a secret begins: a YAML key, a block's mark, an argument's name, the name
of a variable.
"""
_MAY_OPEN = frozenset(":|>+-\"',yneds")
"""Signs that such a line ends with."""
_UNQUOTED = re.compile(
    r"(?P<head>(?<![\w.-])(?:prompt|user_prompt|user_message|input_text|user_input|query|question|instruction|completion"
    r"|generated[_ ]text)\s*[=:]\s*)"
    r"(?![\d\[{\"']|None\b|True\b|False\b|null\b)(?P<value>\w+ \w.*)$",
    re.IGNORECASE,
)
"""A prompt as somebody's own logger prints it: several words after its name, to the end of the
line.
"""
_UVICORN = re.compile(
    r"(?P<head>\bINFO:?\s+)(?:\[?[0-9A-Fa-f:.]+\]?:\d+)(?P<between> - )"
    r"\"(?P<method>[A-Z]+) (?P<path>[^\s?\"]*)[^\s\"]*(?P<rest> HTTP/[\d.]+\")"
)
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
    """The lines of an engine's log without prompts, answers, callers or credentials.

    A quotation that goes over several lines goes as a whole, up to the next line that starts as a
    log line does.
    """
    quoting = in_key = awaited = False
    for line in lines:
        if "-----BEGIN" in line and "PRIVATE KEY" in line:
            in_key = "-----END" not in line
            yield _PEM_LINE.sub(REDACTED, clean(line))
            continue
        if in_key and (not _STARTS_RECORD.match(line) or _KEY_LINE.search(line)):
            in_key = "-----END" not in line
            yield REDACTED
            continue
        in_key = False
        if awaited and line.strip() and not _STARTS_RECORD.match(line):
            awaited = False
            yield REDACTED
            continue
        awaited = (
            line.rstrip()[-1:].lower() in _MAY_OPEN
            and _OPENS_SECRET.search(line[-160:]) is not None
        )
        if quoting and not _STARTS_RECORD.match(line):
            continue
        cleaned, quoting = _log_line(line)
        yield cleaned


def _log_line(line: str) -> tuple[str, bool]:
    """The cleaned line, and whether a quotation in it is still open."""
    if " request " in line or " response " in line:
        found = _REQUEST.match(line)
        if found and (":" in found["rest"][:80] or "'" in found["rest"] or '"' in found["rest"]):
            rest = found["rest"]
            numbers = ", ".join(_REQUEST_NUMBERS.findall(rest))
            kept = (
                f"{clean(found['head'])}: "
                f"{REDACTED}{f', params: SamplingParams({numbers})' if numbers else ''}"
            )
            # A logger of somebody's own may print the prompt's further lines bare: nothing is
            # believed until the next record begins.
            return kept + ('"}' if line.startswith("{") and line.endswith("}") else ""), True
    if ' - "' in line:
        line = _UVICORN.sub(r'\g<head>0.0.0.0:0\g<between>"\g<method> \g<path>\g<rest>', line)
    line = _UNQUOTED.sub(lambda match: f"{match['head']}{REDACTED}", line)
    if not _QUOTES.search(line):
        return clean(line), False
    open_end = False
    if _CONTENT_HINT.search(line):

        def hide(match: re.Match[str]) -> str:
            nonlocal open_end
            value = match["value"]
            open_end = open_end or not _closed(value)
            return f"{match['key']}{match['between']}{REDACTED}"

        line = _CONTENT.sub(hide, line)
    if (templated := _TEMPLATED.search(line)) is not None:
        line, open_end = f"{line[: templated.start()]}{REDACTED}", True
    line = _SAID.sub(rf"\g<head>{REDACTED}", line)
    line = _SPOKEN.sub(
        lambda match: f"{match['head']}{REDACTED}" if len(match["value"]) > 2 else match[0], line
    )
    return clean(line), open_end


def _closed(value: str) -> bool:
    value = value.lstrip("bfru\\")
    if value.startswith(("'''", '"""')):
        return value.find(value[:3], 3) > 0
    if value[:1] in "\"'":
        return len(value) > 1 and value.endswith(value[0]) and not value.endswith(f"\\{value[0]}")
    return value.endswith(("]", "}"))


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
