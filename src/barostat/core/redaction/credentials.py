"""What looks like a secret, taken out of any text; what may stay of an environment and of a command
line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from barostat.core.redaction.key_shapes import looks_like_a_key, without_shapes

REDACTED = "[redacted]"

_KEY = (
    r"[\w.-]*?(?:api[_-]?keys?|access[_-]?key(?:[_-]?id)?|secret[_-]?(?:access[_-]?)?key|private[_-]?key|signing[_-]?key|encryption[_-]?key"
    r"|(?:account|subscription|storage|shared|service|deploy|auth)[_-]?key|master[_-]?key|client[_-]?key[_-]?data|license[_-]?key|auth|token|passw(?:or)?ds?|passphrase|passcode|pwd"
    r"|secrets?|credentials?|cookie|authorization|signature|sig|(?<![A-Za-z])pass|(?<![A-Za-z])pat|(?<![A-Za-z])(?:admin|user|db|root)?pw|jwt|jsessionid|sessionid|etcdctl_user|dsn|conn(?:ection)?[_-]?str(?:ing)?"
    r"|dockerconfigjson|otlp[_-]headers|x-honeycomb-team|key[_-]id|(?-i:[A-Z][A-Z0-9]*_KEY(?:_BASE)?))"
)
_EQUALS = r"(?:=>|:=|[=:]|&#(?:61|58|x3[da]);|&(?:equals|colon);|%(?:25)?3[da]|\\(?:u00|x)3[da])"
"""Between a name and its value, also as HTML, URLs and JSON have it."""
_PEM = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|$)",
    re.DOTALL,
)
_URL = re.compile(
    r"([a-zA-Z][a-zA-Z0-9+.-]{1,20}://)(?:[^\s/?#'\"<>]{1,1024}@|[^\s/@:'\"<>]{0,256}:(?!\d{1,5}(?:[/?#]|$))[^\s'\"<>@]{0,1024}@)"
)
_BEARER = re.compile(
    r"\b(bearer|basic|negotiate|digest)\s+(?!sha\d+:)(?=\S*[\d=._~+/-]|\S{16})[A-Za-z0-9._~+/=-]{6,}",
    re.IGNORECASE,
)
_QUOTED = r"\"(?:[^\"\\]|\\.)*(?:\"|$)|'(?:[^'\\]|\\.)*(?:'|$)"
_PAIR = re.compile(
    rf"(?<![\w.-])(?=[\w.-]+\\*[\"']?\s*[=:&%\\])(?:(?<!first )(?<!output )(?<!next )(?<!per )|(?!tokens?\b))(?P<key>{_KEY})"
    rf"(?P<between>\\*[\"']?\s*{_EQUALS}\s*(?:[|>][+-]?\d?[ \t]*\n\s*)?(?:-\s+)?(?:(?:!!?|&)\w*\s+)?(?:[bfru]{{1,2}}(?=[\"']))?)"
    rf"(?P<value>\[[^\]\n]*\]|\{{[^{{}}\n]*\}}|\\+[\"'](?:(?!\\+[\"']).)*|{_QUOTED}|(?:bearer|basic)\s+\S+|[^\s,;&)}}\]\"']+)",
    re.IGNORECASE,
)
_HEADER = re.compile(
    r"(?im)\b(authorization|proxy-authorization|x-api-key|cookie|set-cookie)(\s*:\s*)(?!\[redacted\])[^\"'\n]+"
)
_SPOKEN = re.compile(
    r"(?:\b|(?<=_))(?P<said>"
    r"(?:api[ _-]?key|access[ _-]?key|secret(?:[ _-]key)?|token|passw(?:or)?d|passphrase|credential|requirepass|masterauth)s?"
    r"(?: +(?:provided|given|used|received|is|was"
    r"|of|for|\w{1,20} is))?\s{0,64}(?::|=|\bis\b|\s)\s{0,64}\(?)(?P<value>\"[^\"\n]+\"|'[^'\n]+'|`[^`\n]+`|[^\s,;\"'`()<>\[\]{}]{4,})",
    re.IGNORECASE,
)
"""A key in a sentence: "API key provided: X", "password X". Of unquoted words only what looks like
one is taken.
"""
_QUERY_KEY = re.compile(
    r"(?P<name>[?&](?:[\w.-]*(?:key|token|secret|sig|signature|password|passwd|pwd|auth|code|credential|jwt))=)(?!\d{1,3}(?:[&\s\"'<>#]|$))[^&\s\"'<>#]+",
    re.IGNORECASE,
)
_CURL_USER = re.compile(
    rf"(?P<said>\s(?:-[a-zA-Z]{{0,8}}[uU]|--user|--proxy-user)(?:\s+|=)?)(?P<value>{_QUOTED}|[^\s'\"]+:[^\s'\"]*)"
    rf"|(?P<sent>\s(?:-b|--cookie|--oauth2-bearer)(?:\s+|=))(?:{_QUOTED}|[^\s'\"]+)"
)
_NAMED = re.compile(
    rf"(?P<name>(?<![\w])name\\*[\"']?\s*[:=]\s*\\*[\"']?{_KEY}\\*[\"']?,?\s*\\*[\"']?value\\*[\"']?\s*[:=]\s*)"
    rf"(?P<value>\\+[\"'](?:(?!\\+[\"']).)*|{_QUOTED}|[^\s,}}\]\"']+)",
    re.IGNORECASE,
)
"""An item of `env:` as YAML, JSON and Go print it: the name, and the value beside it."""
_FLAG_WORD = (
    r"(?:api[-_.]?keys?|token|secret|passw(?:or)?d|pass|(?:secret|access|wandb|auth)[-_]key)"
)
_LISTED_FLAG = re.compile(
    rf"(?P<flag>[\"']--?(?:[a-z]+[-_.])*{_FLAG_WORD}[\"'],\s*"
    rf"|[\"'](?:(?:proxy-)?authorization|(?:set-)?cookie|(?:x-)?api-key|x-[\w-]{{1,60}}(?:key|token))[\"'],\s*b?)(?:{_QUOTED})",
    re.IGNORECASE,
)
_PLAIN_FLAG = re.compile(
    rf"(?P<flag>(?<![\w-])--?(?:[a-z\d]+[-_.])*{_FLAG_WORD}(?:\s+|=))"
    rf"(?P<value>{_QUOTED}|(?![-\[]|\d{{1,3}}\b|(?:is|was|has|and|or|to|in|for|must|not|needs|with|given|from|may|can|requires?|flag"
    rf"|(?-i:[A-Z_]*(?:KEY|TOKEN|SECRET|PASSWORD))\]?)(?!\S))[^\s'\"]+)"
    rf"(?P<more>(?:[ \t]+(?![-&|;<>\\\[(])[^\s'\"]*\d[^\s'\"]*)*)",
    re.IGNORECASE,
)
"""A secret flag in a command that a log quotes, as a list or as a line; several keys may follow
`--api-key`.
"""
_HOSTED = re.compile(
    r"(?P<who>(?<![\w@/.:+-])[\w.+-]{1,64}:)(?!\[redacted\])[^\s@:/'\"]{3,256}(?=@(?!sha\d)[\w.-]{1,253}:\d{2,5}(?!\w))"
)
"""A user and a password before a host and its port, without a scheme; a tag before an image's
digest is none.
"""
_PROXY = re.compile(
    r"(?P<name>\b(?:https?|all|no|ftp)_proxy[\"']?\s*[=:]\s*[\"']?)[^\s@\"'/:]{1,200}:[^\s@\"']{1,400}@",
    re.IGNORECASE,
)
_ELEMENT = re.compile(rf"(?P<opens><(?P<key>{_KEY})>)[^<\n]+", re.IGNORECASE)
_COMMAND_PASSWORD = re.compile(
    rf"(?P<said>\bsshpass\s+-p\s*|\b(?:docker|podman|skopeo|buildah|registry)\s+login\b[^\n;&|]{{0,400}}?\s-p\s+"
    rf"|\b(?:mysql\w*|mariadb[\w-]*)\b[^\n;&|]{{0,400}}?\s-p|\bredis-cli\b[^\n;&|]{{0,400}}?\s-a\s+"
    rf"|\b(?:mongosh?|mongodump|az\s+login)\b[^\n;&|]{{0,400}}?\s-p\s+|\b(?:vault|wandb)\s+login\s+(?!-)"
    rf"|\betcdctl\b[^\n;&|]{{0,400}}?\s--user[= ]"
    rf"|\brabbitmqctl\s+(?:add_user|change_password)\s+\S+\s+|\bhttps?\s+-a\s+|--from-literal[= ][\w.-]{{1,200}}=)"
    rf"(?:{_QUOTED}|[^\s'\"]+)"
)
"""What a command takes as a password without saying so."""
_COMMANDS = (
    "sshpass",
    "login",
    "mysql",
    "mariadb",
    "redis-cli",
    "mongo",
    "etcdctl",
    "rabbitmqctl",
    "--from-literal",
)
_UNSEEN = re.compile("[\xad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]")
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")
_HINTS = re.compile(
    r"(?:keys?|key_?id|token|secret|pass(?:w(?:or)?d)?|passphrase|passcode|pwd|pw|pat|dsn|str(?:ing)?|auth|jwt|sessionid|etcdctl_user|headers|honeycomb-team|configjson|cookie|credentials?|authorization|signature|sig|data)"
    rf"\\*[\"']?\s*{_EQUALS}|bearer|basic|negotiate|digest|://|-----BEGIN|key|secret|token|passw|passphrase|credential|curl|[?&]code=|authorization|\slogin\s|@[\w.-]+:\d|_proxy\W|requirepass|masterauth|-pass\s|mongo|etcdctl|rabbitmq|\bhttps?\s+-a|sshpass|mysql|mariadb|redis-cli|--from-literal",
    re.IGNORECASE,
)
_WORDS = (
    *(
        "key",
        "token",
        "secret",
        "pass",
        "pwd",
        "pat=",
        "dsn",
        "connstr",
        "connection",
        "auth",
        "curl",
        "code=",
        "cookie",
        "credential",
        "signature",
        "sig",
    ),
    *("bearer", "basic", "negotiate", "digest", "://", "-----begin"),
    *(
        "login",
        "mysql",
        "mariadb",
        "redis-cli",
        "--from-literal",
        "mongo",
        "etcdctl",
        "rabbitmq",
        " -a ",
        "@",
        "_proxy",
    ),
    *("pw=", "pw:", "jwt", "sessionid", "otlp", "honeycomb", "dockerconfigjson"),
)
_PLACEHOLDER = re.compile(
    r"</?\|?[a-z_]{1,24}\|?>|SIG[A-Z]{2,6}|[|>][+-]?|[\[{ ]*[\"']?(?:secretName|name)[\"']?: ?[\"']?[\w.-]{1,253}[\"']?[\]} ]*"
)
"""What stands where a value is expected and is none: special tokens, signals, a block's mark, the
name of a Secret.
"""
_HEX_KEY = re.compile(r"[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}")
_HARMLESS = frozenset(
    {
        "none",
        "null",
        "true",
        "false",
        "~",
        '""',
        "''",
        "[]",
        "[redacted]",
        "redacted",
        "***",
        "",
        "is",
        "must",
    }
)
"""No secrets; the last two begin our own sentences about a field: `request.maxOutputToken: is no
known key`.
"""

_ALLOWED_ENV = re.compile(
    r"^(?:VLLM_|NCCL_|RCCL_|CUDA_|ROCR_|HIP_|AMD_SERIALIZE_|HSA_|TORCH_|PYTORCH_|TORCHINDUCTOR_|NVIDIA_VISIBLE_DEVICES$|OMP_NUM_THREADS$|MKL_NUM_THREADS$"
    r"|HF_HUB_OFFLINE$|TRANSFORMERS_OFFLINE$|TOKENIZERS_PARALLELISM$|RAYON_NUM_THREADS$|GLOO_SOCKET_IFNAME$|RAY_memory_)"
)
_SECRET_NAME = re.compile(
    r"KEY|TOKEN|SECRET|PASSW|PASSPHRASE|PASSCODE|(?:^|_)PASS(?:_|$)|PWD|(?:^|_)PAT(?:_|$)|(?:^|_)DSN(?:_|$)|CONN(?:ECTION)?_?STR|CREDENTIAL|AUTH|COOKIE"
    r"|SIGNATURE",
    re.IGNORECASE,
)
_NOT_SECRET_NAME = re.compile(
    r"TOKENIZER|_TOKENS(?:_|$)|NUM_TOKEN|TOKENS_PER|MAX_TOKEN", re.IGNORECASE
)
_FLAG = re.compile(
    r"^--?(?:[\w-]+[-_])?(?:api[-_]?keys?|hf[-_]token|token|secret|password|passwd|credentials?|access[-_]key|secret[-_]key|keyfile[-_]password)$",
    re.IGNORECASE,
)
_SECRET_FLAGS = (
    "--api-key",
    "--hf-token",
    "--ssl-keyfile-password",
    "--password",
    "--passphrase",
    "--client-secret",
)
_SHORTEST = {
    "--api-key": 7,
    "--hf-token": 6,
    "--ssl-keyfile-password": 15,
    "--password": 6,
    "--passphrase": 6,
    "--client-secret": 11,
}
"""argparse takes any beginning that no other flag has: so many characters of it are enough to mean
the secret one.
"""
_MANY_VALUES = re.compile(r"api[-_]?k(?:eys?|e)?$", re.IGNORECASE)
_ASSIGNMENT = re.compile(rf"(?<![\w$.{{-])(?P<name>[A-Za-z_]\w*)=(?P<value>{_QUOTED}|[^\s;&|]*)")
_WORD = rf"(?:{_QUOTED}|[^\s'\"]+)"


def clean(text: str) -> str:
    """The text without anything that looks like a credential: known shapes, passwords in URLs,
    values beside a telling name.
    """
    if "\x1b" in text:
        plain = _ANSI.sub("", text)  # a colour within a key hides it from every pattern
        cleaned = clean(plain.replace("\x1b", ""))
        return cleaned if cleaned != plain else text
    if not text.isascii() and _UNSEEN.search(text):
        text = _cleaned(text)
        plain = _UNSEEN.sub("", text)  # so does what nobody sees
        return cleaned if (cleaned := _cleaned(plain)) != plain else text
    return _cleaned(text)


def _cleaned(text: str) -> str:
    text = without_shapes(text, REDACTED)
    low = text.lower().replace(
        "tokens", ""
    )  # every statistics line counts tokens; looking for words is what makes long logs affordable
    if not any(word in low for word in _WORDS) or not _HINTS.search(text):
        return text
    text = _PEM.sub(REDACTED, text)
    text = _URL.sub(rf"\1{REDACTED}@", text)
    text = _QUERY_KEY.sub(rf"\g<name>{REDACTED}", text)
    if "curl" in low:
        text = _CURL_USER.sub(lambda found: f"{found['said'] or found['sent']}{REDACTED}", text)
    if any(word in low for word in _COMMANDS) or ("http" in low and "-a" in low):
        text = _COMMAND_PASSWORD.sub(rf"\g<said>{REDACTED}", text)
    if "@" in text:
        text = _HOSTED.sub(rf"\g<who>{REDACTED}", _PROXY.sub(rf"\g<name>{REDACTED}@", text))
    if "value" in low:
        text = _NAMED.sub(_without_named, text)
    if "'," in text or '",' in text:
        text = _LISTED_FLAG.sub(rf"\g<flag>'{REDACTED}'", text)
    if "--" in text or " -" in text:
        text = _PLAIN_FLAG.sub(_without_flagged, text)
    if "</" in text:
        text = _ELEMENT.sub(rf"\g<opens>{REDACTED}", text)
    text = _HEADER.sub(rf"\1\2{REDACTED}", text)
    text = _BEARER.sub(rf"\1 {REDACTED}", text)
    return _SPOKEN.sub(_without_spoken, _PAIR.sub(_without_value, text))


def secret_name(name: str) -> bool:
    """True for the name of a variable, field or header whose value is a credential."""
    return bool(_SECRET_NAME.search(name)) and not _NOT_SECRET_NAME.search(name)


def allowed_variable(name: str) -> bool:
    """True for an environment variable that says something about the engine and nothing about its
    owner.
    """
    return bool(_ALLOWED_ENV.match(name)) and not secret_name(name)


def environment(env: Mapping[str, str]) -> dict[str, str]:
    """Those variables that may be shown, cleaned."""
    return {name: clean(value) for name, value in env.items() if allowed_variable(name)}


def arguments(args: tuple[str, ...] | str | None) -> tuple[str, ...] | str | None:
    """The command line without secrets: a list stays a list, one shell string stays one."""
    if args is None:
        return None
    return _command(args) if isinstance(args, str) else tuple(_words(args))


def _may_stay(name: str) -> bool:
    """True for an assignment that may be shown: of names in capitals those that are known, of
    others those that mean no credential.
    """
    return allowed_variable(name) if name.upper() == name else not secret_name(name)


def _is_secret_flag(name: str) -> bool:
    """True for a flag whose value is a credential, also where it is cut short as argparse
    allows.
    """
    if re.search(r"\s", name):
        return False
    spelled = name.lower().replace("_", "-")
    return bool(_FLAG.match(name)) or any(
        flag.startswith(spelled) and len(spelled) >= _SHORTEST[flag] for flag in _SECRET_FLAGS
    )


def _words(args: Iterable[str]) -> list[str]:
    found: list[str] = []
    hiding = many = False
    for word in args:
        name, equals, _ = word.partition("=")
        if _is_secret_flag(name):
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
    """A shell string: the values of secret flags and of variables that are not known to be harmless
    are taken out.
    """
    text = _ASSIGNMENT.sub(
        lambda match: match[0] if _may_stay(match["name"]) else f"{match['name']}={REDACTED}", text
    )

    def hide(match: re.Match[str]) -> str:
        name = match["flag"]
        if not _is_secret_flag(name):
            return match[0]
        return f"{name}{match['between']}{REDACTED}"

    several = rf"(?P<flag>(?<![\w-])--?[\w-]*api[-_]?keys?)(?P<between>=|\s+)(?:{_WORD})(?:\s+(?![-&|;<>]){_WORD})*"
    text = re.sub(several, hide, text, flags=re.IGNORECASE)
    return clean(
        re.sub(rf"(?P<flag>(?<![\w-])--?[\w-]+)(?P<between>=|\s+)(?!-){_WORD}", hide, text)
    )


def _without_spoken(match: re.Match[str]) -> str:
    """The sentence without the key in it: a quoted value is one, a bare word only where it looks
    like one.
    """
    value = match["value"]
    bare = value.strip("\"'`").rstrip(".")
    hexadecimal = "key" in match["said"].lower() and _HEX_KEY.fullmatch(
        bare
    )  # W&B's and Azure's are as a commit's hash is
    if (
        REDACTED in value
        or _PLACEHOLDER.fullmatch(bare)
        or not (hexadecimal or looks_like_a_key(bare, quoted=value[0] in "\"'`"))
    ):
        return match[0]
    return f"{match['said']}{REDACTED}"


def _without_named(match: re.Match[str]) -> str:
    value = match["value"]
    if (
        value.strip("\"'").lower() in _HARMLESS
        or REDACTED in value
        or _NOT_SECRET_NAME.search(match["name"])
    ):
        return match[0]
    quote = value[0] if value[0] in "\"'" else ""
    return f"{match['name']}{quote}{REDACTED}{quote}"


def _without_flagged(match: re.Match[str]) -> str:
    if REDACTED in match["value"]:
        return match[0]
    more = match["more"] if "key" not in match["flag"].lower() else ""
    return f"{match['flag']}{REDACTED}{more}"


def _without_value(match: re.Match[str]) -> str:
    value = match["value"]
    if value.strip().lower() in _HARMLESS or (
        REDACTED in value and len(value) < len(REDACTED) + 10
    ):
        return match[0]
    bare = value.strip("\"'")
    if _PLACEHOLDER.fullmatch(bare):
        return match[0]  # `eos_token='</s>'` is a setting
    if re.fullmatch(r"-?\d{1,5}(?:\.\d{1,6})?%?", bare) and match["key"].lower().endswith(
        ("token", "tokens", "sig", "auth")
    ):
        return match[0]  # `time_per_token=0.5` is a measurement
    quote = value[0] if value[0] in "\"'" else ""
    return f"{match['key']}{match['between']}{quote}{REDACTED}{quote}"
