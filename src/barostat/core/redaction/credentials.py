# ruff: noqa: E501  (a pattern that is broken over lines is harder to read than a long one)
"""Redacts credentials in any text; decides which environment variables and command-line values may
be kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from barostat.core.redaction.key_shapes import (
    is_mixed_up,
    is_random,
    looks_like_a_key,
    without_shapes,
)
from barostat.core.redaction.named_values import PLACEHOLDER, without_named
from barostat.core.redaction.named_values import REDACTED as REDACTED
from barostat.core.redaction.names import Telling, telling
from barostat.core.redaction.placed_values import (
    folded,
    without_encoded,
    without_foreign,
    without_placed,
)

_PRIVATE_KEY = r"(?:[A-Z0-9]{1,12}[ +]){0,4}PRIVATE[ +]KEY(?:[ +]BLOCK)?"
PEM_BEGINS = re.compile(rf"BEGIN[ +]{_PRIVATE_KEY}")
PEM_ENDS = re.compile(rf"END[ +]{_PRIVATE_KEY}|Private-MAC:")
_PEM = re.compile(
    rf"(?:-{{2,5}} ?)?BEGIN[ +]{_PRIVATE_KEY}(?: ?-{{2,5}}|(?=\s|\\)).*?(?:END[ +]{_PRIVATE_KEY}(?: ?-{{2,5}})?|$)"
    r"|\$ANSIBLE_VAULT;[\w.;-]{1,40}(?:\s{1,9}[0-9a-f]{16,80})+"
    r"|(?<=Private-Lines: )\d+.*?(?:Private-MAC: [0-9a-f]+|$)",
    re.DOTALL,
)
_URL = re.compile(
    r"([a-zA-Z][a-zA-Z0-9+.-]{1,20}://)(?!git@)(?:[^\s/?#'\"<>]{1,1024}@|[^\s/@:'\"<>]{0,256}:(?!\d{1,5}(?:[/?#]|$))[^\s'\"<>@]{0,1024}@"
    r"|[^\s/@:\"<>,]{1,128}:(?!\d{1,5}(?:[/?#\"'\s]|$))[^\s@,]{0,256}@(?=[\w.-]{1,253}(?:[:/?\s\"',]|$)))"
    r"|((?!https?)[a-zA-Z][a-zA-Z0-9+.-]{1,20}://)[^\s/@:'\"<>]{0,128}:[^\s'\"@]{1,128} [^\s'\"@]{1,128}@(?=[\w.-]{1,253}[:/])"
)
_BEARER = re.compile(
    r"\b(bearer|basic|negotiate|ntlm|digest)(\s+|%20|\+|[\"'],\s*b?[\"'])(?!sha\d+:|(?:realm|error|scope|service|charset)=)(?=\[redacted\]|\S*[\d=._~+/-]|\S{16})(?:\[redacted\])?[A-Za-z0-9._~+/=-]{6,}",
    re.IGNORECASE,
)
_DIGEST_RESPONSE = re.compile(
    r"(?P<said>\bdigest\s[^\n]{0,400}?\bresponse=)(?:\"[^\"\n]{8,128}\"|[^\s,]{8,128})",
    re.IGNORECASE,
)
QUOTED = r"\"(?:[^\"\\]|\\.)*(?:\"|$)|'(?:[^'\\]|\\.)*(?:'|$)"
_SPOKEN = re.compile(
    r"(?:\b|(?<=_))(?P<said>"
    r"(?:api[ _-]?key|access[ _-]?key|(?:unseal|recovery|encryption|signing|root|master) key|secret(?:[ _-]key(?:ref)?)?|token|passw(?:or)?d|passphrase|credential|requirepass|masterauth)s?"
    r"(?: \d{1,3}(?=:)| ?\([^()\n]{1,40}\)(?=\s?[:=])|\[\w{1,40}\])?(?: +(?:value|list|hash))?(?: +(?:provided|given|used|received|resolved|set|changed|is|was"
    r"|of|for|to|\w{1,20} (?:is|to|was)))?\s{0,64}(?::|=|\bis\b|\s)\s{0,64}\(?)(?P<value>\"[^\"\n]+\"|'[^'\n]+'|`[^`\n]+`|[^\s,;\"'`()<>\[\]{}]{4,})",
    re.IGNORECASE,
)
"""A key in a sentence: "API key provided: X", "password X", "Unseal Key 1: X". Of unquoted words only what looks like
one is taken.
"""
_QUERY_KEY = re.compile(
    r"(?P<name>[?&](?P<key>[\w.-]*(?:key|token|secret|sig|signature|credential|password|passwd|pwd|auth|code|jwt))=)(?P<value>(?!\d{1,3}(?:[&\s\"'<>#]|$))[^&\s\"'<>#]+)",
    re.IGNORECASE,
)
_CURL_USER = re.compile(
    rf"(?P<said>\s(?:-[a-zA-Z]{{0,8}}[uU]|--user|--proxy-user|--cert)(?:\s+|=)?)(?P<value>{QUOTED}|[^\s'\"]+:[^\s'\"]*)"
    rf"|(?P<sent>\s(?:-b|--cookie|--oauth2-bearer)(?:\s+|=))(?:{QUOTED}|[^\s'\"]+)"
)
_HOSTED = re.compile(
    r"(?P<who>(?<![\w@/.:+-])[\w.+-]{1,64}:)(?!\[redacted\])[^\s@:/'\"]{3,256}(?=@(?!sha\d)(?:[\w.-]{1,253}:\d{2,5}(?!\w)|(?:tcp|unix)\(|[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}/))"
)
"""A user and a password before a host and its port, without a scheme; a tag before an image's
digest is none.
"""
_PROXY = re.compile(
    r"(?P<name>\b(?:https?|all|no|ftp)_proxy[\"']?\s*[=:]\s*[\"']?)[^\s@\"'/:]{1,200}:[^\s@\"']{1,400}@",
    re.IGNORECASE,
)
_HERE = r"[^\n;&|]{0,400}?"
_COMMAND_PASSWORD = re.compile(
    rf"(?P<said>\bsshpass\s+-p\s*|\blogin\b{_HERE}\s-p[ =]\s*"
    rf"|\b(?:mysql\w*|mariadb[\w-]*)\b{_HERE}\s-p|\bredis-cli\b{_HERE}\s-a\s*"
    rf"|\b(?:mongosh?|mongodump|rabbitmqadmin|twine)\b{_HERE}\s-p\s+|\b(?:vault|wandb)\s+login\s+(?:--?[\w-]+\s+)*(?!-)"
    rf"|\betcdctl\b{_HERE}\s--user[= ]|\bauth(?:\s+(?:init|login|add|set|token))?\s+(?:-t\s+)?(?=[\w.-]{{20,}}(?:\s|$))(?=\S*\d)|\bldap\w+\b{_HERE}\s-w\s*|\b(?:un)?zip\b{_HERE}\s-P\s*|\b7z\w?\b{_HERE}\s-p(?=\S)"
    rf"|\bsmbclient\b{_HERE}\s-U\s+[^\s%]{{1,128}}%|\bnet\s+use\b{_HERE}/user:\S+\s+|\bmc\s+(?:alias|config\s+host)\s+(?:set|add)\s+\S+\s+\S+\s+\S+\s+"
    rf"|\bmc\s+(?:alias|config\s+host)\s+(?:set|add)\s+\S+\s+\S+\s+|\bvault\s+(?:kv\s+)?(?:put|write)\b{_HERE}\s[\w.-]{{1,80}}=(?!\[red)"
    rf"|(?<=stdin )<<<\s{{0,9}}|(?<=file=- )<<<\s{{0,9}}|<<<\s{{0,9}}(?=(?:{QUOTED}|[^\s'\"|]+)\s*\|[^|\n]{{0,200}}(?:-stdin|with-token|\blogin\b|passwd|\bsudo\s+-S|\bkinit\b|\bcryptsetup\b|\bsu\b))|\b(?:echo|printf)\s+(?:-n\s+|[\"']%s(?:\\n)?[\"']\s+)?(?=(?:{QUOTED}|[^\s'\"|]+)\s*\|[^|\n]{{0,200}}(?:-stdin|with-token|\blogin\b|passwd|\bsudo\s+-S|\bkinit\b|\bcryptsetup\b|\bsu\b))"
    rf"|\bopenssl\b{_HERE}\s-k\s+|\bipmitool\b{_HERE}\s-P\s+|\bsqlplus\s+(?:-\w+\s+){{0,4}}[\w$]{{1,64}}/|\boracle:\w{{1,9}}:[\w$]{{1,64}}/"
    rf"|(?i:\bidentified\s+(?:with\s+[\w']{{1,64}}\s+)?by\s+|\bset\s+password\b{_HERE}=\s*)|\bsentinel\s+auth-pass\s+\S+\s+|\bAUTH\s+(?:[\w.-]{{1,64}}\s+)(?=\S*\d)|\buser\s+[\w.-]{{1,64}}\s+o(?:n|ff)\s+(?:\S{{1,64}}\s+){{0,6}}?[>#](?=\S{{4}})"
    rf"|\\password\s+[\w.-]{{1,64}}\s+|\bkinit\b{_HERE}<<<\s{{0,9}}|\bmosquitto_\w{{3}}\b{_HERE}\s-P\s+|\bsnmp\w*\b{_HERE}\s-[cAX]\s+|\bsnmp(?:-server)?\s+community\s+|\bradius\S*\b{_HERE}\skey\s+|\bLOGIN\s+[^\s,;]{{1,128}}\s+(?=\S+\s*$)"
    rf"|assword:?\s?\*?[\"']?\s?\}}?\s?\{{?\s{{0,9}}send\s+(?:--\s+)?"
    rf"|\bgetConnection\([^()\n]{{1,400}},\s?(?=\"[^\"\n]*\"\))"
    rf"|\bhtpasswd\s+-\w*b\w*\s+(?:-\w+\s+){{0,4}}(?:[^\s-]\S*\s+){{1,2}}(?=\S+\s*(?:$|[;&|]))"
    rf"|\brabbitmqctl\s+(?:add_user|change_password)\s+\S+\s+|\bhttps?\s+-a\s+|--from-literal[= ][\w.-]{{1,200}}=)"
    rf"(?!\[redacted\])(?:{QUOTED}|[^\s'\"]+)"
)
"""What a command takes as a password without saying so."""
_COMMANDS = (
    *("sshpass", "login", "mysql", "mariadb", "redis-cli", "mongo", "etcdctl", "rabbitmq", "--from-literal", "ldap", "zip", "7z", "smbclient", "net use", "twine"),
    *("auth ", "mc alias", "mc config", "vault", "<<<", "-stdin", "with-token", "openssl", "ipmitool", "sqlplus", "oracle:", "identified", "set password", "auth-pass", "user ", "getconnection", "htpasswd", "\\password", "<<<", "mosquitto", "snmp", "radius", "sudo -s", "send "),
)  # fmt: skip
_NETRC = re.compile(
    r"(?P<said>\bmachine\s+\S+\s+login\s+\S+\s+(?:account\s+\S+\s+)?password\s+|\bwandb:?\s+(?=[0-9a-f]{40}\b)|(?:^|\s)password\s+(?=[0-9a-f]{32,}\s*$))\S+",
    re.IGNORECASE,
)
_PGPASS = re.compile(
    r"(?P<said>(?<![\w.:/-])[\w.*-]{1,253}:(?:\d{4,5}|\*):[\w.*-]{1,63}:[\w.*-]{1,63}:|(?<![\w.:/-])[\w.*-]{1,253}:5432:[\w.*-]{1,63}:[\w.*-]{1,63}:)(?=[^\s:]*[A-Za-z])(?=[^\s:]*\d|(?<=[A-Za-z*]:)[^\s:]*[^\s\w:])[^\s:\"']{6,256}(?!\S)"
)
_PROMPTED = re.compile(
    r"(?P<said>\b(?:password|passphrase|passcode|pin)\s+for\s+[^:\n]{1,80}(?:://[^:\n]{1,80})?:\s{1,9}|\b(?:credentials?|login|auth)\b(?:\s+(?:are|is|as|with|for))?\s{0,9}:?\s{1,9}[\w.@-]{1,64}[:/])(?P<value>[^\s:/,;\"']{6,256})(?=[\s.]*$|\s)",
    re.IGNORECASE | re.MULTILINE,
)
"""What answers a prompt for a password, and a user with a password after a word that says so."""
_HEX_BESIDE = re.compile(
    r"(?P<said>\"username\"\s?:\s?\"[^\"\n]{1,80}\",\s?\"key\"\s?:\s?\"|\brouting_key[\"']?\s?[:=]\s?[\"']?)[0-9a-f]{32}(?![0-9a-f])"
)
"""Kaggle's and PagerDuty's keys, which are as a hash is under a name that says little."""
_HOOK = re.compile(
    r"(?P<said>://[^\s\"'<>]{0,200}?(?:web)?(?:hooks?|integration)(?:b\d)?/)(?P<value>[\w@/.-]{16,})",
    re.IGNORECASE,
)
"""A webhook's address, which is a credential by itself."""
_PARTS_OF_HOOK = re.compile(
    r"[0-9a-f]{24,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE
)
_VALUE_FIRST = re.compile(
    r"(?P<said>(?<![\w-])value\\{0,8}[\"']?\s?[:=]\s?\\{0,8}[\"']?)(?P<value>[^\s\"',{}\[\]]{1,4096})(?=\\{0,8}[\"']?,?\s{1,64}\\{0,8}[\"']?name\\{0,8}[\"']?\s?[:=]\s?\\{0,8}[\"']?(?P<name>[\w.-]{1,253}))"
)
_INVALID_VALUE = re.compile(r"(?P<said>[Ii]nvalid value: \")(?P<value>[^\"\n]{8,4096})")
"""What the API server quotes of a field that it refuses."""
_STRAY = re.compile(r"(?<![\w/.+=$@-])[A-Za-z0-9+]{10,64}={0,2}(?![\w/.@+-])")
"""A word in a line about credentials."""
_SHORT_FLAG = re.compile(
    r"(?P<said>\s-[a-zA-Z][ =]?[\"']?)(?P<value>[A-Za-z0-9]{10,64})(?![\w/.@:-])"
)
"""A word behind a flag of a letter: `-p`, `-P`, `-N` and others take passwords."""
_SAID_BEFORE = re.compile(
    r"(?P<said>\b(?:passw\w+|secret|credentials?|token|netrc|(?:api|access|your) key|(?<!cache )(?<!block )(?<!hash )(?<!prefix )(?<!graph )key for)\b[^:\n]{1,80}:\s{1,9})(?P<value>[A-Za-z0-9]{16,128})(?=[.\s]{0,9}$)",
    re.IGNORECASE | re.MULTILINE,
)
"""A sentence about a key that ends with it."""
_CREDENTIALS_SAID = (
    *("password", "passwd", "passphrase", "api key", "api_key", "api-key", "apikey", "credential", "secret", "authorized", "authenticat"),
    *("access key", "access_key", "login", "securestring", "net user", "sudo", "from-literal", "netrc", " key for "),
)  # fmt: skip
_SECRET_OBJECT = re.compile(r"\b(?:Sealed)?Secret(?:List)?\b")
_SECRET_DATA = re.compile(
    r"(?P<said>\b(?:string|encrypted|binary)?data\\{0,8}[\"']?\s*[:=]\s*(?:map\[string\][\w\[\]]+\s*)?)(?P<value>\{[^{}]*\}|(?:\n(?:[ \t]+|$)[^\n]*)+)",
    re.IGNORECASE,
)
"""The values of a Secret that a log prints as JSON, YAML or Go."""
_WRAPPED = re.compile(
    r"(?P<said>\[redacted\]\.?)(?:[\"',\\+]{0,4}\s*\n[ \t>|\"'+,-]*\.?(?:[A-Za-z0-9+/_=-]{0,4096}|\[redacted\])\.?(?:[A-Za-z0-9+/_=-]{16,4096}|\[redacted\])\.?[\"',\\]*(?=\s*(?:\n|$)))+"
)
"""A key that goes on over the next lines."""
_SWITCHES = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
"""What nobody sees: control characters, marks of direction, characters without a width."""
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")
_ESCAPED = re.compile(
    r"\\{1,8}(?:u00|x)(?P<hex>[2-7][0-9a-f])|%(?:25){0,3}(?P<percent>[2-7][0-9a-f]|0[ad])|&#x?(?P<entity>\d{2,3});|&(?P<named>quot|apos|amp);",
    re.IGNORECASE,
)
_WORDS = (
    *("key", "token", "secret", "pass", "pwd", "pw", "--pat", "pat=", "pat:", "_pat", "dsn", "conn", "auth", "curl", "code=", "cookie", "cred", "signature", "sig="),
    *("bearer", "basic", "negotiate", "ntlm", "digest", "://", "sess", "sid=", "sid'", "hmac", "otp", "nonce",
    "crumb", "psk", "sas"),
    *("login", "mysql", "mariadb", "redis-cli", "--from-literal", "mongo", "etcdctl", "rabbitmq", " -a ", "@", "_proxy", "zip", "7z", "smbclient", "net use", "twine", "ldap", "<<<", "mc alias", "vault", "wandb"),
    *("openssl", "ipmitool", "sqlplus", "oracle:", "identified", "user ", "getconnection", "netrc", " -p", " -n", "sudo", "net user", "securestring", "hook", "/integration", "salt", "_code", "-code", "ansible_vault", "pin_", "pin-", "invalid value"),
    *("jwt", "otlp", "honeycomb", "dockerconfigjson", "srf", "snmp", "community", "kinit", "/t/", "codes", "assword", "mosquitto", "routing_key", "username", "private-lines", "stringdata", "seed", "mnemonic", "phrase", "response=", "client_random", "traffic_secret", ":*:", ":5432:"),
)  # fmt: skip
_VALUE_BEFORE = re.compile(
    r"(?<![\w/.+=$@-])(?P<value>[\w+/=-]{16,256})(?P<said> (?:as (?P<name>[A-Za-z_][\w.-]{2,120})|is (?:the|an?|your|my|our) (?:[\w-]{1,20} ){0,3}(?:token|key|secret|password))\b)"
)
"""A key before its name: `X as API_TOKEN`, `X is the access token`."""
_KEY_SAID = re.compile(
    r"(?P<said>\b(?!(?:cache|block|hash|prefix|sort|partition|primary|foreign|compile|graph|group|lock|object|idempotency|row|with|from|same|this|that|hashed|index|trace|dedup)\b)[A-Za-z][A-Za-z0-9]{2,20} key(?: is)?\s?[:=]?\s{1,4})"
    r"(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32,512})(?![\w-])"
    r"|(?P<seed>\b(?:[\w-]{2,20} )?(?:seed|pepper|salt)(?: is)?\s?[:=]?\s{1,4})(?:[0-9a-f]{32,512}|[A-Z2-7]{16,128})(?![\w-])"
    r"|(?P<codes>\b(?:recovery|backup|scratch|one-time|emergency) codes?\s?(?:are|is)?\s?[:=]\s{0,4})(?:[\w-]*\d[\w-]*[,;]?\s?)+"
    r"|(?P<tls>\b(?:CLIENT_RANDOM|[A-Z_]{6,40}_SECRET(?:_\d)?) )[0-9a-f]{64} [0-9a-f]{64,128}(?![\w-])",
    re.IGNORECASE,
)
"""A service's key that is a hash or a uuid."""
_PATH_TOKEN = re.compile(
    r"(?:(?<=/t/)|(?<=/token/))(?:[a-z]{2}-)?(?=[\w-]*\d)[\w-]{20,256}(?=/)|(?:(?<=/keys/)|(?<=/key/)|(?<=/tokens/)|(?<=/secrets/)|(?<=/apikey/))(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{16,256}"
)
_KEYS_IN_PATHS = ("/t/", "/token/", "/tokens/", "/key/", "/keys/", "/secrets/", "/apikey/")
_PROMPTS = ("word for", "phrase for", "code for", "pin for", "credential", "login", "auth ")
_COUNTED = re.compile(r"\d{1,9}&")
_VARIABLES = re.compile(r"\"?\$\{?\w+\}?:\$\{?\w+\}?\"?")
_HEX_KEY = re.compile(r"[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}")

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
"""argparse accepts unambiguous prefixes of flags: this many characters are enough to mean the
secret one.
"""
_MANY_VALUES = re.compile(r"api[-_]?k(?:eys?|e)?$", re.IGNORECASE)
_ASSIGNMENT = re.compile(rf"(?<![\w$.{{-])(?P<name>[A-Za-z_]\w*)=(?P<value>{QUOTED}|[^\s;&|]*)")
_WORD = rf"(?:{QUOTED}|[^\s'\"]+)"


def clean(text: str) -> str:
    """Return the text without anything that looks like a credential: known key formats, passwords
    in URLs, values of variables with a telling name.

    Text without a credential is returned unchanged. In redacted text, colours, invisible characters
    and compatibility forms (full width, mathematical letters) are removed as well.
    """
    plain = _readable(text)
    cleaned = without_encoded(_cleaned(plain), _cleaned)
    if "%" in cleaned or "\\" in cleaned or "&" in cleaned:
        decoded = _decoded(cleaned)
        if decoded != cleaned and (again := _cleaned(decoded)) != decoded:
            return again
    return cleaned if cleaned != plain else text


def _readable(text: str) -> str:
    """Return the text as a reader takes it: what hides a name from a pattern is undone."""
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    if not text.isascii():
        text = folded(text)
    return _SWITCHES.sub("", text) if not text.isprintable() else text


def _decoded(text: str) -> str:
    """Return the text with letters and signs that JSON, URLs and HTML escape written out; quotes
    of JSON stay escaped.
    """

    def spelled(match: re.Match[str]) -> str:
        if match["named"]:
            return {"quot": '"', "apos": "'", "amp": "&"}[match["named"].lower()]
        number = (
            int(match["entity"])
            if match["entity"] and "x" not in match[0].lower()
            else int(match["hex"] or match["percent"] or match["entity"], 16)
        )
        char = chr(number)
        if match["hex"] and char in '"\\':
            return match[0]
        return " " if char in "\r\n" else char if 32 <= number < 127 else match[0]

    return _ESCAPED.sub(spelled, text)


def _cleaned(text: str) -> str:
    text = without_shapes(text, REDACTED)
    low = text.lower().replace(
        "tokens", ""
    )  # every statistics line counts tokens; looking for words is what makes long logs affordable
    if any(word in low for word in _WORDS):
        text = _without_said(text, low)
    text = without_foreign(without_placed(text), low)
    return _WRAPPED.sub(r"\g<said>", text) if "\n" in text and REDACTED in text else text


def _without_said(text: str, low: str) -> str:
    """Return the text without what its words call a secret. `low`: the text in small letters."""
    if "private" in low or "ansible_vault" in low:
        text = _PEM.sub(REDACTED, text)
    if "data" in low and ("stringdata" in low or ("secret" in low and _SECRET_OBJECT.search(text))):
        text = _SECRET_DATA.sub(_without_data, text)
    if "@" in text:
        text = _URL.sub(lambda found: f"{found[1] or found[2]}{REDACTED}@", text)
    text = _QUERY_KEY.sub(_without_query_key, text)
    if "curl" in low:
        text = _CURL_USER.sub(_without_user, text)
    if any(word in low for word in _COMMANDS) or ("http" in low and "-a" in low):
        text = _COMMAND_PASSWORD.sub(rf"\g<said>{REDACTED}", text)
    if "machine" in low or "wandb" in low or "password" in low:
        text = _NETRC.sub(rf"\g<said>{REDACTED}", text)
    if ":" in text:
        text = _PGPASS.sub(rf"\g<said>{REDACTED}", text)
    if "username" in low or "routing_key" in low:
        text = _HEX_BESIDE.sub(rf"\g<said>{REDACTED}", text)
    if any(word in low for word in _PROMPTS):
        text = _PROMPTED.sub(
            lambda found: (
                f"{found['said']}{REDACTED}" if looks_like_a_key(found["value"]) else found[0]
            ),
            text,
        )
    if "@" in text:
        text = _HOSTED.sub(rf"\g<who>{REDACTED}", _PROXY.sub(rf"\g<name>{REDACTED}@", text))
    if "hook" in low or "/integration" in low:
        text = _HOOK.sub(_without_hook, text)
    if "digest" in low:
        text = _DIGEST_RESPONSE.sub(rf"\g<said>{REDACTED}", text)
    text = _BEARER.sub(rf"\1\2{REDACTED}", text)
    text = _SPOKEN.sub(_without_spoken, without_named(text))
    if "value" in low and "name" in low:
        text = _VALUE_FIRST.sub(_without_value_first, text)
    if "nvalid value" in text:
        text = _INVALID_VALUE.sub(
            lambda found: (
                found["said"] + REDACTED if is_random(found["value"], shortest=8) else found[0]
            ),
            text,
        )
    text = _VALUE_BEFORE.sub(_without_value_before, _KEY_SAID.sub(_without_key_said, text))
    if any(part in text for part in _KEYS_IN_PATHS):
        text = _PATH_TOKEN.sub(REDACTED, text)
    if " -" in text:
        text = _SHORT_FLAG.sub(
            lambda found: f"{found['said']}{REDACTED}" if is_mixed_up(found["value"]) else found[0],
            text,
        )
    if any(word in low for word in _CREDENTIALS_SAID):
        text = _SAID_BEFORE.sub(
            lambda found: (
                f"{found['said']}{REDACTED}" if is_random(found["value"], hashes=True) else found[0]
            ),
            text,
        )
        text = _STRAY.sub(lambda found: REDACTED if is_mixed_up(found[0]) else found[0], text)
    return text


def secret_name(name: str) -> bool:
    """True for the name of a variable, field or header whose value is a credential."""
    return (
        bool(_SECRET_NAME.search(name)) or telling(name) is Telling.SECRET
    ) and not _NOT_SECRET_NAME.search(name)


def allowed_variable(name: str) -> bool:
    """True for an environment variable that says something about the engine and nothing about its
    owner.
    """
    return bool(_ALLOWED_ENV.match(name)) and not secret_name(name)


def environment(env: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that may be shown, redacted."""
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
    return (name.startswith("-") and telling(name.lstrip("-")) is Telling.SECRET) or any(
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
    bare = value.strip("\"'`*").rstrip(".*")
    hexadecimal = "key" in match["said"].lower() and _HEX_KEY.fullmatch(
        bare
    )  # W&B's and Azure's are as a commit's hash is
    if (
        REDACTED in value
        or _COUNTED.match(bare)
        or PLACEHOLDER.fullmatch(bare)
        or not (hexadecimal or looks_like_a_key(bare, quoted=value[0] in "\"'`"))
    ):
        return match[0]
    return f"{match['said']}{REDACTED}"


def _without_key_said(match: re.Match[str]) -> str:
    said = match["said"] or match["seed"] or match["codes"] or match["tls"]
    return f"{said}{REDACTED}"


def _without_hook(match: re.Match[str]) -> str:
    parts = re.split(r"[/@]", match["value"])
    if any(_PARTS_OF_HOOK.fullmatch(part) or is_random(part) for part in parts):
        return f"{match['said']}{REDACTED}"
    return match[0]


def _without_value_before(match: re.Match[str]) -> str:
    """The key that stands before its name, where it looks like one."""
    if match["name"] and telling(match["name"]) is not Telling.SECRET:
        return match[0]
    if not is_random(match["value"], hashes=True):
        return match[0]
    return f"{REDACTED}{match['said']}"


def _without_value_first(match: re.Match[str]) -> str:
    """Redact a value that precedes its variable's name."""
    if telling(match["name"]) is not Telling.SECRET or PLACEHOLDER.fullmatch(match["value"]):
        return match[0]
    return f"{match['said']}{REDACTED}"


def _without_query_key(match: re.Match[str]) -> str:
    """The parameter without its value, unless only its value could tell and does not: `sort_key=name`."""
    if (
        telling(match["key"]) is not Telling.SECRET
        and not is_random(match["value"], shortest=8, hashes=True)
        and not _PARTS_OF_HOOK.fullmatch(match["value"])
    ):
        return match[0]
    return f"{match['name']}{REDACTED}"


def _without_user(match: re.Match[str]) -> str:
    """curl's user and password, quotes kept; `-H` and the like go on to be looked at."""
    if match["value"] and _VARIABLES.fullmatch(match["value"]):
        return match[0]
    return f"{match['said'] or match['sent']}{REDACTED}"


def _without_data(match: re.Match[str]) -> str:
    """The fields of a Secret without their values."""
    if match["value"].startswith("{"):
        return f"{match['said']}{REDACTED}"
    indent = re.search(r"\n([ \t]*)", match["value"])
    return f"{match['said']}\n{indent[1] if indent else ''}{REDACTED}"
