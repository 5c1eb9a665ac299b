# ruff: noqa: E501  (a pattern that is broken over lines is harder to read than a long one)
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
    QUOTED,
    REDACTED,
    clean,
    secret_name,
)
from barostat.core.redaction.key_shapes import is_random
from barostat.core.redaction.names import Telling, telling

_STARTS_RECORD = re.compile(
    r"^(?:(?:\x1b\[[0-9;]*m)*\([^)]{1,60}\)\s*){0,3}(?:\x1b\[[0-9;]*m)*"
    r"(?:(?:DEBUG|INFO|WARNING|ERROR|CRITICAL|TRACE)\b|\d{4}-\d\d-\d\d|\[?\d\d:\d\d|\{\"|Traceback \(|[\w.]+(?:Error|Exception)\b)"
)
_REQUEST = re.compile(
    r"(?P<head>.*?\b(?:(?:Received|Added|Generated|Finished) (?:request|response) [\w./-]{1,120}|Request [\w./-]{1,120} details))(?P<rest>.*)$",
    re.DOTALL,
)
_REQUEST_NUMBERS = re.compile(r"\b(?:n|max_tokens|min_tokens|max_completion_tokens)=(?:\d+|None)\b")
_CONTENT_WORD = (
    r"prompts?|contents?|messages|texts?|text_?\d|inputs?|quer(?:y|ies)|documents?|passages?|outputs?|completions?|reasoning|thinking|thoughts?|arguments?|argument_diff|args_diff|tool_calls?(?:_portion)?|bod(?:y|ies)|tool_args|buffer"
    r"|suffix|instructions?|conversations?|transcripts?|transcriptions?|utterances?|questions?|answers?|observations?|stop_sequences?|tool_(?:response|result|output)s?|function_(?:call|args)|citations?|buffer(?:ed_text)?|detokenized|chunk_text"
)
_CONTENT_KEY = (
    rf"(?:system|user|assistant|developer|tool|last|chat|human)_message|data_\d|(?!limit_|max_|min_|num_|enable_|disable_)(?:[a-z]\w{{0,40}}?_)?(?:{_CONTENT_WORD})|content_?parts?|input_value|raw_request|stop|system|image_url|audio_url|video_url|input_audio|multi_modal_data|mm_data|(?!stop_)(?:\w+_)?token_ids"
    r"|input_ids|prompt_embeds|guided_(?:json|choice|regex|grammar|decoding)|json_schema|structured_outputs|grammar|bad_words|tools|chat_template_kwargs|extra_args|cache_salt|logprobs|user|mm_inputs"
    r"|arg_(?:key|val|value)s?|cur_arguments|prev_arguments|parsed_\w{1,20}|payload"
)
_CONTENT = re.compile(
    rf"(?<![\w.-])(?P<key>\\*[\"']?(?:{_CONTENT_KEY})\\*[\"']?)(?P<between>\s*[=:]\s*)"
    rf"(?P<value>\\+[\"'].*$|[bfru]{{0,2}}(?:'{{3}}.*$|\"{{3}}.*$|{QUOTED})|[\u201c\u00ab].*$|\[[\d\s,.-]*\]|\([\d\s,.-]*\)|(?:\w+\()?[\[{{(].*$|\w+Params\(.*$)",
    re.IGNORECASE,
)
_SPOKEN_VALUE = re.compile(
    rf"(?P<head>(?<![\w.-])\w{{0,40}}(?:text|prompt|message|quer|content|passage|reason|think|complet|argument|conversation|utteran|instruct)\w{{0,40}}\s*[=:]\s*)(?P<value>{QUOTED})",
    re.IGNORECASE,
)
"""A name that only contains such a word: of its quoted values those of several words go."""
_QUOTES = re.compile(
    r"[=:]\s*(?:\w+\()?\\*[bfru]{0,2}[\"'\[{(\u201c\u00ab]"
    r"|<\||</?\w+>|\[INST\]|\[TOOL|<start_of_turn>|\b[Pp]rompt ['\"]|fields were present|compile (?:regex|grammar) '|tool"
)
_CONTENT_HINT = re.compile(
    rf"(?:{_CONTENT_WORD}|content_?parts?|input_value|raw_request|stop|system|_url|_audio|_data|_ids|_embeds|guided_\w+|json_schema|structured_outputs|grammar|bad_words|tools|_kwargs|extra_args|cache_salt|logprobs|user|_inputs|arg_\w+|parsed_\w+|payload)"
    rf"\\*[\"']?\s*[=:]\s*(?:\w+\(|\\*[bfru]{{0,2}}[\"']|[\[{{(\u201c\u00ab])",
    re.IGNORECASE,
)
_TEMPLATED = re.compile(
    r"(?:<\|[\w ]{1,40}\|>|\[INST\]|\[TOOL_CALLS\]|<start_of_turn>|</?(?:think|thinking|tool_call|tool_response|function_call|answer|scratchpad|reasoning|response|parameter|arg_key|arg_value)>|<(?:function|parameter|tool)=[\w.-]{1,80}>|### ?(?:Instruction|Input|Response):"
    r"|(?<![\w.])(?:User|Human|Assistant): ?(?=.{0,400}(?:Assistant|Human|User|AI):))(?=\\?n?(?: [\"'][^\"']|[ ]?[^\s\"',\])}|<]))"
)
"""A prompt as the model sees it, behind the marks of a chat template."""
_SAID = re.compile(
    rf"(?P<head>\bprompt |present in the request but ignored: |compile (?:regex|grammar) |JSON schema: "
    rf"|tool calls?[\w ]{{0,30}}: )(?:{QUOTED}|[\[{{].*$)",
    re.IGNORECASE,
)
"""What a request said, in a sentence of the engine's."""
_SPOKEN = re.compile(
    r"(?P<head>\b(?:prompt|template|decod\w+|tokeniz\w+|pars(?:e|ing)|tool call|input|message|generated|output)\b[^\"'\n]{0,80}:\s*)"
    rf"(?P<value>b?(?:{QUOTED}))",
    re.IGNORECASE,
)
_CONTENT_FILE = re.compile(
    r"\[?\b(?:\w{1,60}_)?(?:tool_parsers?|reasoning_parsers?|tool_call_parser|parser_engine|harmony_utils|harmony|chat_utils|log_response|chat_parsing|response_templates|render\w*|renderers?)\.(?:py|rs):\d+\]?:?\s*(?P<said>.*)$",
    re.DOTALL,
)
"""Files of the engine that handle what a request or an answer says: nothing of such a record is
believed to be harmless but that it was written.
"""
_KNOWN_SAID = re.compile(
    r"(?:Failed to import lazy|Using (?:supplied|default|detected)|Detected the chat template content format|\"auto\" tool choice|Error in extracting tool call from response\.?$|Error trying to handle streaming tool call\.?$|No tool call tokens found!?$)[^\n]{0,400}$"
)
_NOT_SAID = r"(?=\S)(?!None\b|True\b|False\b|null\b|\d+(?:\.\d+)?\b|is\b|are\b|was\b|not\b|with\b|for\b|found\b|failed\b|enabled\b|parser\b|limit\b|choice\b|in \d|\[redacted\])"
_PHRASE = re.compile(
    r"(?P<head>\b(?:got (?:arguments )?diff|diffing (?:between|old arguments)|(?<=searching for )diff between|against new ones|skipping text|(?<=\] )finding(?= .{1,200} in .)|tokens in arguments received|not all literals|non-simple function name|error placeholder"
    r"|converter failed(?: \(\w+\))?|(?:messages|OpenAI|chat) request(?= \{)|extracting tool call from response|tokenized prompt|preprocessing prompt inputs?|emitted tool name|create_error_response called with \w+|malformed citation payload|tool call details from|in template for message)(?:\s*[:=]\s*|\s+)"
    r"|\b(?:(?:model|raw|tool|final|streamed) output|user input|tool call(?: arguments| payload)?|parsed (?:message|content)|(?:extracted|remaining|buffered) (?:content|text)|rendered (?:prompt|template|to|as)|chat template rendered"
    r"|(?:failed to parse|error parsing|cannot parse|could not parse)(?: [\w-]{1,20}){0,6}(?: tool calls?| function calls?| arguments| output)|transcript(?:ion)?|bad value|summary text|ChatCompletion|Messages Response|Session updated|function arguments|generated|decoded)\s*[:=]\s*|\bbad value )"
    + _NOT_SAID
    + r"(?P<value>.+)$",
    re.IGNORECASE,
)
"""What a record of a parser of tools or of an endpoint quotes without a name or quotes."""
_PEM_LINE = re.compile(r"-----BEGIN.*")
_KEY_LINE = re.compile(r"(?:^|[\s\"])[A-Za-z0-9+/]{16,}={0,2}[\"\s]*$|-----END")
"""A line of a key behind the stamps of whoever passed it on."""
_OPENS_SECRET = re.compile(
    r"(?:(?<![\w.-])(?P<name>[\w.-]{1,120})[\"']?\s*[:=]\s*(?:[|>][+-]?|\{)?\s*\\?|(?<![\w-])--(?P<flag>[\w.-]{1,120})[\"']?,?\s*\\?|(?<=bearer)\s*\\?|\bname[\"']?:\s*[\"']?(?P<variable>[\w.-]{1,120})[\"']?,?)\s*$",
    re.IGNORECASE,
)
"""A line that ends where a secret begins: a YAML key, a block's mark, an argument's name, the name
of a variable.
"""
_UNQUOTED = re.compile(
    r"(?P<head>(?<![\w.-])(?:(?:\w{1,40}_)?(?:prompt|prompts|text|query|queries|thinking|reasoning|reasoning_content|content|utterance|transcript|completion|passage|document|message_content)|conversation(?==)"
    r"|(?:system|user|assistant|developer|tool|last|chat|human)_message|user_input|input_text|(?<![a-z] )(?:question|answer|observation)|instructions?|tool_(?:response|result|output)|function_call_output|tool_arguments|(?:current|cur|prev)_\w{0,20}arguments|arg_key|arg_val|generated[_ ]text|model[_ ]output|raw_tool_call|stop_sequences|negative_prompt|summary|suffix|detokenized)"
    r"\s*[=:]\s*)"
    r"(?![\d\[{\"']|None\b|True\b|False\b|null\b|auto\b|/|\\*[\"'])(?P<value>\w\S{0,200} \S.*)$",
    re.IGNORECASE,
)
"""A prompt as somebody's own logger prints it: several words after its name, to the end of the
line.
"""
_DELTA = re.compile(
    r"(?P<head>(?<![\w.-])(?:delta_text|current_text|cur_text|previous_text|prev_text|new_text|prefix_text|buffered_text|model_output|arg_val|thinking|stop_sequences)\s*[=:]\s*)(?!None\b|True\b|False\b|null\b|\[redacted\]|\[\]|\d+\b)(?P<value>\S.*)$",
    re.IGNORECASE,
)
"""A piece of an answer as a parser of the engine prints it, one word or many."""
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
            line = _without_caller(line)
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
        if _STATISTICS.fullmatch(line):
            self._quoting = self._wrapped = self._in_secret = False
            self._awaited, self._block_indent = 0, -1
            return line
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
        cleaned, self._quoting = _log_line(line)
        self._wrapped = (
            cleaned.endswith((REDACTED, f"{REDACTED}."))
            and _ENDS_IN_KEY.search(line[-200:]) is not None
        )
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
    """Return the line with its numbers and its request's id made equal; None where a number may be
    a password.
    """
    if "@" in line or len(line) > _LONGEST_SHAPE:
        return None
    if "cmpl-" in line:
        line = _REQUEST_ID.sub("", line)
    return _NUMBER.sub("0000", _SMALL_NUMBER.sub("0", line))


def _without_caller(line: str) -> str:
    """Return a line of uvicorn's access log without the client's address and the query."""
    if ' - "' in line:
        return _UVICORN.sub(r'\g<head>0.0.0.0:0\g<between>"\g<method> \g<path>\g<rest>', line)
    return line


_STATISTICS = re.compile(
    r"(?:\([\w =.-]{1,60}\) )?(?:INFO|DEBUG) \d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d{1,6})? \[[\w./]{1,80}:\d{1,6}\] (?:Engine \d{1,4}: )?"
    r"Avg prompt throughput: (?:[\d.]{1,20}(?: tokens/s|%| reqs?)?(?:, )?(?:(?:[A-Z][A-Za-z]{0,12} ?){1,5}: )?){1,20}"
)
"""The line that most of a log is: numbers only."""
_SECRET_HINTS = ("key", "token", "secret", "pass", "cred", "auth", "cookie", "bearer")
_CONTENT_HINTS = (
    *("text", "prompt", "quer", "think", "reason", "content", "utter", "transcr", "complet", "convers", "passage", "document", "user", "input", "question", "answer"),
    *("instruct", "observ", "tool", "arg_", "arguments", "output", "generated", "stop_seq", "summary", "suffix", "detok"),
)  # fmt: skip
_PHRASE_HINTS = (
    *("output", "input", "diff", "against", "skipping", "finding", "arguments", "tool", "literals", "function", "converter", "parse", "render", "transcri"),
    *("bad value", "request", "response", "session", "payload", "generated", "decoded", "content", "text", "placeholder", "template", "completion"),
)  # fmt: skip
_ENDS_IN_KEY = re.compile(r"[A-Za-z0-9+/_=-]{8,}\.?[\"',\\]*\s*$")
_GOES_ON = re.compile(r"^[\s>|\"'+,-]*[A-Za-z0-9+/_=.-]{8,}[\"',\\]*\s*$")
_BARE_KEY_LINE = re.compile(r"[\s>|\"'+,-]*[A-Za-z0-9+/_-]{40,}={0,2}[\"',\\]*\s*")
_BLOCK_MARKS = ("", "|", ">", "|-", ">-", "|+", ">+")
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


def _log_line(line: str) -> tuple[str, bool]:
    """Return the cleaned line, and whether a quotation in it is still open."""
    if " request " in line or " response " in line or "Request " in line:
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
    line = _without_caller(line)
    if (".py:" in line or ".rs:" in line) and (content := _CONTENT_FILE.search(line)) is not None:
        said = content["said"]
        if said and not _KNOWN_SAID.match(said):
            return f"{clean(line[: content.start('said')])}{REDACTED}", True
    if "DEBUG" in line[:120] and _DEBUG.search(line, 0, 120):
        line = _without_debug_texts(line)
    low = line.lower()
    if any(word in low for word in _CONTENT_HINTS):
        line = _DELTA.sub(_keep_head, _UNQUOTED.sub(_keep_head, line))
    open_phrase = False
    if any(word in low for word in _PHRASE_HINTS) and (phrase := _PHRASE.search(line)) is not None:
        line, open_phrase = f"{line[: phrase.start('value')]}{REDACTED}", phrase.end() == len(line)
    if not _QUOTES.search(line) and not _SPEAKER.search(line):
        return clean(line), open_phrase
    open_end = open_phrase
    if _CONTENT_HINT.search(line):

        def hide(match: re.Match[str]) -> str:
            nonlocal open_end
            value = match["value"]
            open_end = open_end or not _closed(value)
            return f"{match['key']}{match['between']}{REDACTED}"

        line = _CONTENT.sub(hide, line)
    if (templated := _TEMPLATED.search(line)) is not None:
        line, open_end = f"{line[: templated.start()]}{REDACTED}", True
    line = _SPOKEN_VALUE.sub(
        lambda match: f"{match['head']}{REDACTED}" if " " in match["value"].strip() else match[0],
        line,
    )
    line = _SAID.sub(rf"\g<head>{REDACTED}", line)
    line = _SPOKEN.sub(
        lambda match: f"{match['head']}{REDACTED}" if len(match["value"]) > 2 else match[0], line
    )
    return clean(line), open_end


_DEBUG = re.compile(r"\bDEBUG\b")
_DEBUG_QUOTED = re.compile(
    r"(?P<head>[=:,(\[{]\s?[bfru]{0,2})(?P<value>\"(?:[^\"\\]|\\.)* (?:[^\"\\]|\\.)*(?:\"|$)|'(?:[^'\\]|\\.)* (?:[^'\\]|\\.)*(?:'|$))"
)
_DEBUG_BARE = re.compile(
    r"(?P<head>(?<![\w.-])[A-Za-z_]\w{2,60}=)(?P<value>[A-Za-z][A-Za-z'-]{0,60} [A-Za-z][A-Za-z'-]{0,60}(?=[ .,!?;]|$)(?![=:])[^=]{0,4096}(?=, \w{1,60}=|$))"
)


def _without_debug_texts(line: str) -> str:
    """Return a record of level DEBUG without texts of several words under any name: what the engine
    prints there is what a request says.
    """
    return _DEBUG_BARE.sub(_keep_head, _DEBUG_QUOTED.sub(_keep_head, line))


def _keep_head(match: re.Match[str]) -> str:
    return f"{match['head']}{REDACTED}"


_SPEAKER = re.compile(r"\b(?:User|Human|Assistant): |### ?\w+:")


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
