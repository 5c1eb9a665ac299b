# ruff: noqa: E501  (a pattern that is broken over lines is harder to read than a long one)
"""What of a record of the engine's log a request or an answer says, taken out: prompts, messages,
pieces of answers, arguments of tools.
"""

from __future__ import annotations

import re

from barostat.core.redaction.credentials import QUOTED, REDACTED, clean

_REQUEST = re.compile(
    r"(?P<head>.*?\b(?:(?:Received|Added|Generated|Finished) (?:request|response) [\w./-]{1,120}|Request [\w./-]{1,120} details))(?P<rest>.*)$",
    re.DOTALL,
)
_REQUEST_NUMBERS = re.compile(r"\b(?:n|max_tokens|min_tokens|max_completion_tokens)=(?:\d+|None)\b")
_CONTENT_WORD = (
    r"prompts?|contents?|messages|texts?|text_?\d|inputs?|quer(?:y|ies)|documents?|passages?|outputs?|completions?|reasoning|thinking|thoughts?|arguments?|argument_diff|args_diff|tool_calls?(?:_portion)?|bod(?:y|ies)|tool_args|buffer"
    r"|suffix|instructions?|conversations?|transcripts?|transcriptions?|utterances?|questions?|answers?|observations?|stop_sequences?|tool_(?:response|result|output)s?|function_(?:call|args)|citations?|buffer(?:ed_text)?|detokenized|chunk_text|pairs"
)
_CONTENT_KEY = (
    rf"(?:system|user|assistant|developer|tool|last|chat|human)_message|data_\d|(?!limit_|max_|min_|num_|enable_|disable_)(?:[a-z]\w{{0,40}}?_)?(?:{_CONTENT_WORD})|content_?parts?|input_value|raw_request|stop|system|image_url|audio_url|video_url|input_audio|multi_modal_data|mm_data|(?!stop_)(?:\w+_)?token_ids"
    r"|(?:\w{1,40}_)?input_ids|prompt_embeds|guided_(?:json|choice|regex|grammar|decoding)|json_schema|structured_outputs|grammar|bad_words|tools|chat_template_kwargs|extra_args|cache_salt|logprobs(?: \w{1,12})?|user|mm_inputs"
    r"|arg_(?:key|val|value)s?|cur_arguments|prev_arguments|parsed_\w{1,20}|payload|(?:gen_ai|llm)\.[\w.]{1,80}\.(?:content|prompt|completion|value|text)|(?:input|output)\.value"
)
_CONTENT = re.compile(
    rf"(?<![\w.-])(?P<key>\\*[\"']?(?:{_CONTENT_KEY})\\*[\"']?)(?P<between>\s*[=:]\s*)"
    rf"(?P<value>\\+[\"'].*$|[bfru]{{0,2}}(?:'{{3}}.*$|\"{{3}}.*$|{QUOTED})|[\u201c\u00ab].*$|\[[\d\s,.-]*\]|\([\d\s,.-]*\)|(?:\w+\()?[\[{{(].*$|\w+Params\(.*$)",
    re.IGNORECASE,
)
_SPOKEN_VALUE = re.compile(
    rf"(?P<head>(?<![\w.-])\w{{0,40}}(?:text|prompt|message|quer|content|passage|reason|think|complet|argument|conversation|utteran|instruct)\w{{0,40}}(?:\s*[=:]| (?:was|is))\s*)(?P<value>{QUOTED})",
    re.IGNORECASE,
)
"""A name that only contains such a word: of its quoted values those of several words go."""
_QUOTES = re.compile(
    r"[=:]\s*(?:\w+\()?\\*[bfru]{0,2}[\"'\[{(\u201c\u00ab]"
    r"|<\||</?\w+>|\[INST\]|\[TOOL|<start_of_turn>|\b[Pp]rompt (?:(?:was|is) )?['\"]|fields were present|compile (?:regex|grammar) '|ed (?:text|prompt|query|message|content) ['\"]|cache (?:hit|miss) for|(?:user|human|assistant|system)> |coding (?:the )?arguments|parsing arguments|n(?:'t|not) (?:en|de)code|tool"
)
_CONTENT_HINT = re.compile(
    rf"(?:{_CONTENT_WORD}|content_?parts?|input_value|raw_request|stop|system|_url|_audio|_data|_ids|_embeds|guided_\w+|json_schema|structured_outputs|grammar|bad_words|tools|_kwargs|extra_args|cache_salt|logprobs(?: \w{1, 12})?|user|_inputs|arg_\w+|parsed_\w+|payload)"
    rf"\\*[\"']?\s*[=:]\s*(?:\w+\(|\\*[bfru]{{0,2}}[\"']|[\[{{(\u201c\u00ab])",
    re.IGNORECASE,
)
_TEMPLATED = re.compile(
    r"(?:(?<!token )(?<!tokens )<\|[\w ]{1,40}\|>|\[INST\]|\[TOOL_CALLS\]|<start_of_turn>|</?(?:think|thinking|tool_call|tool_response|function_call|answer|scratchpad|reasoning|response|parameter|arg_key|arg_value)>|<(?:function|parameter|tool)=[\w.-]{1,80}>|### ?(?:Instruction|Input|Response):|(?<![\w.<])(?:user|human|assistant|system)> (?=\S)"
    r"|(?<![\w.])(?:User|Human|Assistant): ?(?=.{0,400}(?:Assistant|Human|User|AI):))(?=\\?n?(?: [\"'][^\"']|[ ]?[^\s\"',\])}|<]))"
)
"""A prompt as the model sees it, behind the marks of a chat template."""
_SAID = re.compile(
    rf"(?P<head>\bprompt |present in the request but ignored: |compile (?:regex|grammar) |JSON schema: |\b(?:flagged|blocked|rejected|moderated) (?:text|prompt|query|message|content) |\bcache (?:hit|miss) for |(?:pars|decod)ing (?:the )?arguments |can(?:'t|not) (?:en|de)code "
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
_NOT_SAID = r"(?=\S)(?!None\b|True\b|False\b|null\b|\d+(?:\.\d+)?\b(?! [A-Z][a-z])|is\b|are\b|was\b|not\b|with\b|for\b|found\b|failed\b|enabled\b|parser\b|limit\b|choice\b|in \d|\[redacted\])"
_PHRASE = re.compile(
    r"(?P<head>\b(?:got (?:arguments )?diff|diffing (?:between|old arguments)|(?<=searching for )diff between|against new ones|skipping text|(?<=\] )finding(?= .{1,200} in .)|tokens in arguments received|not all literals|non-simple function name|error placeholder"
    r"|converter failed(?: \(\w+\))?|(?:messages|OpenAI|chat) request(?= \{)|extracting tool call from response|tokenized prompt|preprocessing prompt inputs?|emitted tool name|create_error_response called with \w+|malformed citation payload|invalid (?:grammar|regex|json schema)|truncating (?:query|prompt|document|text|input)|prompt (?:is )?too long|tool call details from|in template for message)(?:\s*[:=]\s*|\s+)"
    r"|\b(?:(?:model|raw|tool|final|streamed) output|user input|diff|param(?:eter)? value|tool call(?: arguments| payload)?|parsed (?:message|content)|(?:extracted|remaining|buffered) (?:content|text)|rendered (?:prompt|template|to|as)|chat template rendered"
    r"|(?:failed to parse|error parsing|cannot parse|could not parse)(?: [\w-]{1,20}){0,6}(?: tool calls?| function calls?| arguments| output)|transcript(?:ion)?|(?:assistant|user|human|model) (?:said|asked|wrote|replied|answered)|bad value|summary text|ChatCompletion|Messages Response|Session updated|function arguments|generated|decoded)\s*[:=]\s*|\bbad value |\bgenerated_text +|error: prompt (?=.{1,4096} is too long)"
    r"|\b(?:semantic |prompt |response )?cache (?:hit|miss) for |\b(?:moderation|guardrail|safety|policy|filter)\w*(?: \w{1,20})? (?:flagged|blocked|rejected|matched)\s*[:=]\s*|\bbeam \d{1,3}\s*[:=]\s*|\bfound (?:PERSON|EMAIL\w*|PHONE\w*|LOCATION|ORG\w*|PII) |\b(?:guidance|assistant|forced|response) prefix\s*[:=]\s*|\b(?:regex|pattern|grammar)\s*:\s+(?=.{3,400} not matched)|\brejected token in |\bcaption\s*[:=]\s*|\bfailed for input\s*[:=]\s*|\btext_input |\brequest [\w.-]{1,80} with (?:text|prompt|input) )"
    + _NOT_SAID
    + r"(?P<value>.+)$",
    re.IGNORECASE,
)
"""What a record of a parser of tools or of an endpoint quotes without a name or quotes."""
_UNQUOTED = re.compile(
    r"(?P<head>(?<![\w.-])(?:(?:\w{1,40}_)?(?:prompt|prompts|text|query|queries|thinking|reasoning|reasoning_content|content|utterance|transcript|completion|passage|document|message_content)|conversation(?==)"
    r"|(?:system|user|assistant|developer|tool|last|chat|human)_message|user_input|input_text|question(?==)|(?<![a-z] )(?:question|answer|observation)|instructions?|tool_(?:response|result|output)|function_call_output|tool_arguments|(?:current|cur|prev)_\w{0,20}arguments|arg_key|arg_val|generated[_ ]text|model[_ ]output|raw_tool_call|(?:gen_ai|llm)\.[\w.]{1,80}\.(?:content|prompt|completion|value|text)|stop_sequences|negative_prompt|summary|suffix|detokenized)"
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
_CONTENT_HINTS = (
    *("text", "prompt", "quer", "think", "reason", "content", "utter", "transcr", "complet", "convers", "passage", "document", "user", "input", "question", "answer"),
    *("instruct", "observ", "tool", "arg_", "arguments", "output", "generated", "stop_seq", "summary", "suffix", "detok"),
)  # fmt: skip
_PHRASE_HINTS = (
    *("output", "input", "diff", "value", "invalid", "truncating", "against", "skipping", "finding", "arguments", "tool", "literals", "function", "converter", "parse", "render", "transcri"),
    *("bad value", "request", "response", "session", "payload", "generated", "decoded", "content", "text", "placeholder", " said", " asked", " wrote", " replied", " answered", "too long", "template", "completion", "cache hit", "cache miss", "flagged", "blocked", "rejected", "matched", "beam ", "found ", "prefix", "regex", "pattern", "grammar", "caption"),
)  # fmt: skip
_SPEECH = re.compile(
    r"(?<![\w./-])(?:my|me|mine|myself|she|her|hers|herself|he|his|him|himself)(?![\w/-])",
    re.IGNORECASE,
)
"""Words of people that talk of themselves or of others: an engine has none."""
_SPEECH_HINTS = (
    " my",
    " me",
    " she",
    " her",
    " he ",
    " his",
    " him",
    "'my ",
    '"my ',
    "=my ",
    "'he ",
    "=he ",
)
_BEFORE_SPEECH = re.compile(
    r".*(?:[=:]\s{0,4}|\]\s{1,4}|^\s{0,40}[A-Z]{4,8}\s{1,4})[\"'`]?", re.DOTALL
)


def without_caller(line: str) -> str:
    """Return a line of uvicorn's access log without the client's address and the query."""
    if ' - "' in line:
        return _UVICORN.sub(r'\g<head>0.0.0.0:0\g<between>"\g<method> \g<path>\g<rest>', line)
    return line


def without_content(line: str) -> tuple[str, bool]:
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
    line = without_caller(line)
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
        return clean(_without_speech(line)), open_phrase
    open_end = open_phrase
    if _CONTENT_HINT.search(line):

        def hide(match: re.Match[str]) -> str:
            nonlocal open_end
            value = match["value"]
            if _SPECIAL_TOKEN.fullmatch(value):
                return match[0]
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
    return clean(_without_speech(line)), open_end


def _without_speech(line: str) -> str:
    """Return the line up to the name or the mark before which a person speaks."""
    low = line.lower()
    if not any(word in low for word in _SPEECH_HINTS) or (speech := _SPEECH.search(line)) is None:
        return line
    before = _BEFORE_SPEECH.match(line, 0, speech.start())
    return f"{before[0] if before else ''}{REDACTED}"


_SPECIAL_TOKEN = re.compile(
    r"[\"'](?:</?[|\w]{1,30}>|\[[A-Z]{2,8}\]|[a-z]{1,20}(?:_[a-z]{1,20}){1,5})[\"']"
)
_DEBUG = re.compile(r"\bDEBUG\b")
_DEBUG_QUOTED = re.compile(
    r"(?P<head>[=:,(\[{]\s?[bfru]{0,2})(?P<value>\"(?:[^\"\\]|\\.)* (?:[^\"\\]|\\.)*(?:\"|$)|'(?:[^'\\]|\\.)* (?:[^'\\]|\\.)*(?:'|$))"
)
_DEBUG_BARE = re.compile(
    r"(?P<head>(?<![\w.-])[A-Za-z_]\w{2,60}=|\] ?= ?)(?P<value>[A-Za-z][A-Za-z'-]{0,60} [A-Za-z][A-Za-z'-]{0,60}(?=[ .,!?;]|$)(?![=:])[^=]{0,4096}(?=, \w{1,60}=|$))"
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
