"""Recognises keys by their form: issuers' prefixes, and randomness. Excludes random-looking
non-secrets: hashes, digests, UUIDs, ids.

Source: the issuers' documentation, and public secret scanners.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import pairwise

_PREFIXED = (
    (("hf_", "api_org_"), r"(?:hf|api_org)_[A-Za-z0-9]{8,}"),
    (
        ("sk-", "sk_", "pk-", "pk_", "rk-", "rk_", "whsec_"),
        r"(?:sk|pk|rk|whsec)[-_][A-Za-z0-9][A-Za-z0-9_-]{7,}",
    ),
    (("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"gh[pousr]_[A-Za-z0-9]{8,}"),
    (("github_pat_",), r"github_pat_[A-Za-z0-9_]{8,}"),
    (
        (
            "glpat-",
            "gldt-",
            "glcbt-",
            "glrt-",
            "glft-",
            "glsoat-",
            "glffct-",
            "glimt-",
            "glagent-",
            "glptt-",
        ),
        r"gl(?:pat|dt|cbt|rt|ft|soat|ffct|imt|agent|ptt)-[A-Za-z0-9_-]{8,}(?:\.[0-9a-z]{2,9}){0,2}",
    ),
    (("AKIA", "ASIA", "ABIA", "ACCA"), r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{8,}"),
    (("AIza",), r"AIza[A-Za-z0-9_-]{10,}"),
    (("ya29.", "GOCSPX-"), r"(?:ya29\.|GOCSPX-)[A-Za-z0-9_-]{8,}"),
    (("xox", "xapp-"), r"(?:xox[a-z](?:\.xox[a-z])?|xapp)-[A-Za-z0-9%+/_-]{8,}"),
    (("hooks.slack.com/",), r"hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/_-]{8,}"),
    (
        ("discord.com/api/webhooks/", "discordapp.com/api/webhooks/"),
        r"discord(?:app)?\.com/api/webhooks/[\w/-]{8,}",
    ),
    (
        ("nvapi-", "pplx-", "xai-", "tskey-", "pul-", "NRAK-", "PMAK-", "key-"),
        r"(?:nvapi|pplx|xai|tskey|pul|NRAK|PMAK|key)-[A-Za-z0-9_-]{12,}",
    ),
    (
        ("npm_", "gsk_", "r8_", "fw_", "lin_api_", "lin_oauth_", "rubygems_", "sntrys_", "sntryu_"),
        r"(?:npm|gsk|r8|fw|lin_api|lin_oauth|rubygems|sntry[su])_[A-Za-z0-9_]{8,}",
    ),
    (
        ("dop_v1_", "doo_v1_", "dor_v1_", "glc_", "glsa_", "shpat_", "shpss_", "essu_", "sq0"),
        r"(?:do[opr]_v1|glc|glsa|shp(?:at|ca|pa|ss)|essu|sq0[a-z]{3})[_-][\w=+/-]{8,}",
    ),
    (("pypi-", "dckr_pat_", "dckr_oat_"), r"(?:pypi-|dckr_[po]at_)[A-Za-z0-9_-]{8,}"),
    (("dapi", "dose"), r"(?:dapi|dose)[0-9a-f]{24,}"),
    (
        ("hvs.", "hvb.", "hvr.", "dt0c01.", "dp.pt.", "dp.st.", "SG."),
        r"(?:hv[sbr]|dt0c01|dp\.[ps]t|SG)\.[A-Za-z0-9_.-]{12,}",
    ),
    (
        (
            "tgp_v1_",
            "lsv2_",
            "wandb_v1_",
            "jina_",
            "rpa_",
            "phc_",
            "phx_",
            "ntn_",
            "sbp_",
            "pscale_",
            "bkua_",
            "CCIPAT_",
            "fm2_",
        ),
        r"(?:tgp_v1|lsv2_[a-z]{2}|wandb_v1|jina|rpa|ph[cx]|ntn|sbp|pscale_[a-z]+|bkua|CCIPAT|fm2)_[\w+/=-]{20,}",
    ),
    (("sqp_", "squ_", "sqa_"), r"sq[pua]_[0-9a-f]{40}"),
    (("csk-", "tvly-"), r"(?:csk|tvly)-[A-Za-z0-9-]{20,}"),
    (("ABSK",), r"ABSK[A-Za-z0-9+/=]{40,}"),
    (("Q~",), r"[\w.~-]{3}\dQ~[\w.~-]{31,}"),
    (("1//0",), r"1//0[\w-]{30,}"),
    ((".local.", ".public."), r"v[1-4]\.(?:local|public)\.[\w-]{20,}(?:\.[\w-]*)?"),
    (
        (
            "e2b_",
            "hcaik_",
            "hcaic_",
            "hcxik_",
            "tfp_",
            "esecret_",
            "re_",
            "ory_",
            "inf_",
            "zpka_",
            "tr_dev_",
            "m0-",
            "polar_",
            "gsap_",
            "stlp_",
            "aio_",
        ),
        r"(?:e2b|hca?x?i[kc]|tfp|esecret|re|ory_(?:[ars]t|pat|ac)|inf|zpka|tr_dev|m0|polar_[a-z]{2,4}|gsap|stlp|aio)[_-](?=[\w-]*\d)[A-Za-z0-9][\w-]{19,}",
    ),
    (("hooks.zapier.com/",), r"hooks\.zapier\.com/hooks/[\w/-]{8,}"),
    (("st.",), r"st\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.[0-9a-f]{32}\.[0-9a-f]{32}"),
    (("oy2",), r"oy2[a-z0-9]{43}"),
    (("YC",), r"YC(?:AJE|AJ|P|N)[\w-]{20,38}"),
    (("K10", "K1"), r"K10[0-9a-f]{64}::\w{1,40}:\w{8,}"),
    (
        (
            "xaat-",
            "xapt-",
            "sdk-",
            "mob-",
            "api-",
            "pat-na",
            "pat-eu",
            "amzn.mws",
            "dnkey-",
            "pubkey-",
            "signkey-",
        ),
        r"(?:xa[ap]t|sdk|mob|api|pat-(?:na|eu)\d|amzn\.mws|pubkey|signkey-\w{2,8}|dnkey)[-.][0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12,}|dnkey-[\w=-]{20,}|signkey-\w{2,8}-[0-9a-f]{32,}|pubkey-[0-9a-f]{32}",
    ),
    (
        ("dp.", "dt0s"),
        r"dp\.(?:ct|sa|scim|audit|st\.[a-z0-9_-]{2,35})\.[A-Za-z0-9]{40,44}|dt0s\d\d\.[A-Z0-9]{8,24}\.[A-Z0-9]{40,}",
    ),
    (("bce-v3/",), r"bce-v3/ALTAK-[A-Za-z0-9]{21}/[0-9a-f]{40}"),
    (
        ("BBDC-", "CFPAT-", "PMAT-", "figr_", "SCW", "SSWS"),
        r"(?:BBDC|CFPAT|PMAT)-[\w+/=-]{20,}|figr_[\w-]{20,}|SCW[A-Z0-9]{17}|SSWS [\w-]{30,}",
    ),
    (
        ("AzCa", "AzSe", "AzFu", "ACDb", "APIM", "ABa", "ASt", "AIoT", "AZDO", "AMC"),
        r"[A-Za-z0-9+/]{26,76}(?:AzCa|AzSe|AzFu|ACDb|APIM|\+ABa|\+ASt|AIoT|AZDO|\+AMC)[A-Za-z0-9+/]{4,10}={0,2}",
    ),
    (("IGQ", "EAAG", "EAAB", "EAAI"), r"(?:IGQ[A-Z0-9]|EAA[GBIJ])[\w-]{40,}"),
    (("token-", "kubeconfig-"), r"(?:token|kubeconfig-u)-[a-z0-9]{5,12}:[a-z0-9]{54}"),
    (("cloudinary://",), r"cloudinary://\d{8,20}:[\w-]{20,}"),
    (("ghapp", "gha_", "v1.", "Iv1."), r"v1\.[0-9a-f]{40}"),
    ((":AA",), r"(?:bot)?\d{8,10}:AA[\w-]{30,}"),
    (("webhook.office.com/",), r"[\w.-]{0,100}webhook\.office\.com/[\w/@-]{8,}"),
    (("LS0tLS1CRUdJTi",), r"LS0tLS1CRUdJTi[A-Za-z0-9+/=]{8,}"),
    (("ATATT3", "AKCp", "ATCTT3"), r"(?:AT[AC]TT3|AKCp)[A-Za-z0-9_=-]{12,}"),
    (
        ("$1$", "$2a$", "$2b$", "$2y$", "$5$", "$6$", "$y$", "$argon2"),
        r"\$(?:[156y]|2[aby]|argon2id?)\$[\w./+=,$-]{16,}",
    ),
    (("AGE-SECRET-KEY-",), r"AGE-SECRET-KEY-1[A-Z0-9]{8,}"),
    ((".atlasv1.",), r"[A-Za-z0-9]{10,}\.atlasv1\.[A-Za-z0-9_=-]{12,}"),
    (
        ("eyJ",),
        r"eyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{0,2048}(?:\.[A-Za-z0-9_-]*){1,3}|eyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{4,}|eyJ[\w+/=-]{24,}",
    ),
    (
        (
            "LTAI",
            "AKID",
            "A3T",
            "AQVN",
            "EZAK",
            "EZTK",
            "EAAM",
            "EAAC",
            "EAAA",
            "cmVmd",
            "GR1348941",
            "AKC",
        ),
        r"(?:LTAI[A-Za-z0-9]{12,}|AKID[A-Za-z0-9]{28,}|A3T[A-Z0-9]{17}|AQVN[\w-]{30,}|EZ[AT]K[A-Za-z0-9]{50,}|EAA[MCA][\w-]{20,}|cmVmd[A-Za-z0-9]{40,}|GR1348941[\w-]{16,}|AKC[A-Za-z0-9]{10,})",
    ),
    (
        ("FwoGZXIvYXdzE", "FQoGZXIvYXdzE", "IQoJb3JpZ2lu"),
        r"(?:F[wQ]oGZXIvYXdzE|IQoJb3JpZ2lu)[\w+/=%-]{16,}",
    ),
    (("bedrock-api-key-",), r"bedrock-api-key-[\w+/=-]{16,}"),
    (
        (
            "sess-",
            "gloas-",
            "p8e-",
            "ico-",
            "tk-us-",
            "xkeysib-",
            "xsmtpsib-",
            "fio-u-",
            "HRKU-",
            "NRIQ-",
            "NRJS-",
            "NRII-",
            "NRRA-",
            "NRSP-",
            "API-",
        ),
        r"(?:sess|gloas|p8e|ico|tk-us|xkeysib|xsmtpsib|fio-u|HRKU|NR(?:IQ|JS|II|RA|SP)|API)-[\w-]{16,}",
    ),
    (("s-s4t2",), r"s-s4t2(?:ud|af)-[0-9a-f]{32,}"),
    (("A3-",), r"A3-[A-Z0-9]{6}-[A-Z0-9-]{22,}"),
    (("ops_eyJ",), r"ops_eyJ[\w+/=-]{20,}"),
    (
        (
            "pcsk_",
            "pnu_",
            "rdme_",
            "nfp_",
            "vcp_",
            "vck_",
            "figd_",
            "figo_",
            "sgp_",
            "clojars_",
            "CLOJARS_",
            "fo1_",
            "fm1r_",
            "fm1a_",
            "sm_aat_",
            "sm_pat_",
            "sm_sat_",
            "sb_secret_",
            "sb_publishable_",
            "lsv2_",
            "dckr_",
            "napi_",
            "neon_",
            "hcp_",
            "ops_",
            "cfut_",
            "atcr_",
            "wsec_",
            "uwu_",
        ),
        r"(?:pcsk|pnu|rdme|nfp|vc[pk]|fig[do]|sgp(?:_local|_[0-9a-f]{16})?|(?i:clojars)|fo1|fm1[ar]|sm_[aps]at|sb_(?:secret|publishable)|napi|neon|hcp|cfut|atcr|wsec)_[\w+/=.-]{14,}",
    ),
    (("_live_", "_test_", "_prod_"), r"[a-z]{2,12}_(?:live|test|prod)_[A-Za-z0-9][\w=-]{13,}"),
    (("FLWSECK", "FLWPUBK"), r"FLW(?:SECK|PUBK)(?:_TEST)?-[0-9a-zA-Z]{12,}(?:-X)?"),
    (("shpca_", "shppa_", "shptka_"), r"shp(?:ca|pa|tka)_[0-9a-fA-F]{24,}"),
    (("v1.0-",), r"v1\.0-[0-9a-f]{24}-[0-9a-f]{100,}"),
    (("sha256~",), r"sha256~[\w-]{40,}"),
    (
        (".acc_", ".acc-"),
        r"(?:sc|ext|scauth|authress)_[A-Za-z0-9]{5,30}\.[A-Za-z0-9]{4,6}\.acc[_-][\w-]{10,32}\.[\w+/=-]{30,120}",
    ),
    (("pat",), r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    (("pat.", "sat."), r"[ps]at\.[\w-]{20,}\.[\w.-]{20,}"),
    (("_mmk",), r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk"),
    (("SK", "AC"), r"(?:SK|AC)[0-9a-f]{32}(?::[0-9a-f]{32})?"),
    (("-us",), r"[0-9a-f]{32}-us\d{1,2}"),
    (("NRAL",), r"[0-9a-f]{36}NRAL"),
    (("GOOG",), r"GOOG1?[A-Z0-9]{20,}"),
    (("KGAT_",), r"KGAT_[0-9a-f]{32}"),
    (("fc-",), r"fc-[0-9a-f]{32}"),
    (
        ("AVNS_", "ucat_", "pb_"),
        r"AVNS_[\w-]{16,}|ucat_[A-Za-z0-9]{20,}|pb_(?=[\w-]*\d)(?=[\w-]*[A-Z])[\w-]{22}",
    ),
    (("2/", "1/"), r"[12]/\d{12,20}(?:/\d{12,20})?:[0-9a-f]{32}"),
    (
        ("access-",),
        r"access-(?:production|sandbox|development)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    ),
    (("EXO",), r"EXO[0-9a-f]{24}"),
    (("pa-",), r"pa-(?=[\w-]*\d)(?=[\w-]*[A-Z])[\w-]{43}"),
    (("zXlK", "ZXlK"), r"[zZ]XlK[A-Za-z0-9+/=]{20,}"),
    ((".webhook.site", "api.telegram.org"), r"api\.telegram\.org/(?:file/)?bot\d{6,12}:[\w-]{20,}"),
    (("hooks.slack.com/triggers",), r"hooks\.slack\.com/triggers/[A-Za-z0-9/_-]{8,}"),
    (("ingest.", "sentry.io"), r"[0-9a-f]{32}(?=@[\w.-]{1,80}sentry\.io)"),
    (
        ("MII", "MC4CAQ", "b3BlbnNzaC1rZXkt"),
        r"(?:MII[A-Za-z0-9+/]{30,}|MC4CAQAwBQYDK2Vw[A-Za-z0-9+/]{20,}|b3BlbnNzaC1rZXkt[A-Za-z0-9+/]{8,})={0,2}",
    ),
    (("4b1d",), r"4b1d[A-Za-z0-9]{38}(?![A-Za-z0-9])"),
    (("s.", "b."), r"[sb]\.(?=[A-Za-z0-9]*\d)(?=[A-Za-z0-9]*[A-Z])[A-Za-z0-9]{24,}(?![A-Za-z0-9])"),
    (("u+",), r"u\+[A-Za-z0-9_-]{18}(?![\w-])"),
    (("nsec1",), r"nsec1[a-z0-9]{58}"),
    (("t1.",), r"t1\.[A-Za-z0-9_-]{2,}[=]{0,2}\.[A-Za-z0-9_-]{60,}"),
    (
        ("{SSHA", "{SHA", "{CRYPT}", "$apr1$"),
        r"(?:\{(?:SSHA|SHA|SMD5|CRYPT)\d{0,3}\}|\$apr1\$)[\w./+=$-]{16,}",
    ),
)
_STARTS = tuple(start for starts, _ in _PREFIXED for start in starts)
_SHAPE = re.compile(r"(?<![A-Za-z0-9])(?:" + "|".join(shape for _, shape in _PREFIXED) + ")")
_HARMLESS = re.compile(
    r"SHA256:[A-Za-z0-9+/]{43}=?|(?:sha(?:1|256|512):)?[0-9a-f]{32}|(?:sha(?:1|256|512):)?[0-9a-f]{40}|(?:sha(?:1|256|512):)?[0-9a-f]{64}"
    r"|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[a-z_]{1,40}[=:]\d{1,9}(?:[.,]\d{1,9})?|(?:chatcmpl|cmpl|resp|msg|req|embd|score|rerank|pool)-[\w-]+|(?:[a-z]+[._/-])*[a-z]+|v?\d+(?:[.:,]\d+)*\w{0,3}",
    re.IGNORECASE,
)
_WORDS = re.compile(r"(?:[a-z][a-z0-9]{1,3}|[A-Z]{2})[_.-](?:[a-z]{1,16}[_.-])*[a-z]{1,16}")
SHORTEST = 6
RANDOM_BITS = 2.5
"""Shannon entropy a character, in bits: words of a language stay below it at such lengths, random
keys do not.
"""


_MAY_BE_A_KEY = re.compile(r"(?<![\w+/=~$-])(?=[a-z_+/=~$-]*+[A-Z0-9])[\w+/=~$-]{11}")
"""Cheap: hardly a line of an ordinary log has such a word."""
_RUN = re.compile(r"(?<![A-Za-z0-9])[A-Za-z0-9]{20,4096}(?![A-Za-z0-9])")
_FORTY = re.compile(r"(?<![\w+/=.-])[A-Za-z0-9+/]{40}(?![\w+/=])")
"""An AWS secret has no prefix, only this length."""
_CAMEL = re.compile(r"[A-Z][a-z]+|[a-z]{2,}|[A-Z]+(?![a-z])|\d+[A-Za-z]?(?![a-z])")
_HASH = re.compile(r"[0-9a-f]{16,}|[0-9A-F]{16,}")
_OBJECT_NAME = re.compile(
    r"(?:[a-z]+-)+[0-9a-f]{8,10}-[a-z0-9]{5}|(?:[a-z]+-){2,}[a-z0-9]{1,10}|(?:[a-z]+-)+[0-9a-f]{9,10}|(?:[a-z]+-){2,}\d{8}-[a-z0-9]{5}"
)
"""A pod, a job or a deployment: words, and the short hashes that Kubernetes adds."""
_MOST_CHANGES = 0.4


def without_shapes(text: str, instead: str) -> str:
    """Return the text with every key replaced that its prefix or its randomness gives away."""
    if _MAY_BE_A_KEY.search(text) is None:
        return text
    for start in _STARTS:
        if start in text:
            text = _SHAPE.sub(lambda found: instead if _drawn(found[0]) else found[0], text)
            break
    if "." in text:
        text = _DISCORD.sub(instead, text)
    if "/" in text or "+" in text:
        text = _without_forty(text, instead)
    if "=" in text:
        text = _KEY_OF_32_BYTES.sub(
            lambda found: instead if classes(found[0]) == 3 else found[0], text
        )
    return _without_runs(text, instead)


def _without_forty(text: str, instead: str) -> str:
    return _FORTY.sub(
        lambda found: (
            instead
            if classes(found[0]) == 3
            and (
                is_random(found[0], shortest=16) or ("+" in found[0] and entropy_bits(found[0]) > 4)
            )
            else found[0]
        ),
        text,
    )


def _without_runs(text: str, instead: str) -> str:
    """Return the text without words whose letters and digits follow no language."""
    pieces: list[str] = []
    done = 0
    for found in _RUN.finditer(text):
        begin, end = found.span()
        if begin < done or not (_follows_no_language(found[0]) or _NATS_SEED.fullmatch(found[0])):
            continue
        whole = _WHOLE.match(text, end)
        around = _BEFORE.search(text, max(done, begin - 200), begin)
        start = around.start() if around else begin
        if (
            text.endswith(("SHA256:", "ssh-ed25519 ", "ssh-rsa ", "ssh-dss "), 0, start)
            or _ECDSA.search(text, max(0, start - 40), start)
            or _in_digest(text, begin)
            or _HARMLESS.fullmatch(text[start : whole.end() if whole else end])
            or text.startswith(("_Z", "Z"), start)
        ):
            continue
        begin, end = _stretched(text, begin, end, done)
        pieces += (text[done:begin], instead)
        done = end
    return "".join((*pieces, text[done:])) if pieces else text


_ECDSA = re.compile(r"ecdsa-sha2-nistp\d{3} \Z")
"""Before a public key of SSH."""
_KEY_OF_32_BYTES = re.compile(r"(?<![\w+/=.:-])[\w+/-]{43}=(?![\w=])")
"""As Fernet, AES and WireGuard have it in Base64."""
_DISCORD = re.compile(
    r"(?<![\w.-])[MNO](?=[\w-]*\d)[A-Za-z0-9_-]{22,27}\.[\w-]{6}\.[\w-]{27,40}(?![\w-])"
)
_NATS_SEED = re.compile(r"S[UAONCX](?=[A-Z]*\d)[A-Z0-9]{56}")
_DIGEST = re.compile(r"(?:\bsha(?:256|384|512)-|\bh1:)[A-Za-z0-9+/]{40,128}={0,2}")
"""What a lock file says of a package."""


def _in_digest(text: str, at: int) -> bool:
    if "sha" not in text and "h1:" not in text:
        return False
    return any(found.start() <= at < found.end() for found in _DIGEST.finditer(text))


_WHOLE = re.compile(r"[\w+=~-]{0,200}")
_BEFORE = re.compile(r"[\w+=~-]{1,200}\Z")
_NEXT_PART = re.compile(r"[/+._=~-]{1,2}([A-Za-z0-9]{1,4096})={0,2}")
_PART_BEFORE = re.compile(r"([A-Za-z0-9]{1,64})[/+._=~-]{1,2}\Z")


def _stretched(text: str, begin: int, end: int, done: int) -> tuple[int, int]:
    """Return the key's span with the parts beside it that belong to it."""
    while text[end : end + 1] in ("=", "+", "/") and text[end : end + 1]:
        end += 1
    while (part := _NEXT_PART.match(text, end - 1 if text[end - 1] in "=+/" else end)) and (
        _is_mixed(part[1], hashes=True)
        or (len(part[1]) < 6 and classes(part[1]) > 1)
        or text[part.start()] in "+_"
        or (len(part[1]) < 3 and text[part.start()] == "/")
        or (len(part[1]) < 6 and not part[1].islower() and not part[1].isdigit())
    ):
        end = part.end()
    while (part := _PART_BEFORE.search(text, max(done, begin - 66), begin)) and (
        _is_mixed(part[1], hashes=True)
        or text[part.end() - 1] in "_-+"
        or (len(part[1]) < 6 and classes(part[1]) > 1)
    ):
        begin = part.start()
    return begin, end


def _follows_no_language(run: str) -> bool:
    return (
        classes(run) == 3
        and not _is_camel(run)
        and _changes_ratio(run) >= _MOST_CHANGES
        and entropy_bits(run) >= 3.3
    )


def _is_camel(word: str) -> bool:
    """True for words written together, as `Qwen2ForCausalLM`: words of three letters and more are
    half of it.
    """
    parts = _CAMEL.findall(word)
    return sum(map(len, parts)) == len(word) and 2 * sum(
        len(part) for part in parts if len(part) > 2 and part[-3:].isalpha() and part[1:].islower()
    ) >= len(word)


def classes(word: str) -> int:
    """Return how many of capitals, small letters and digits the word has."""
    return sum(bool(re.search(kind, word)) for kind in (r"[a-z]", r"[A-Z]", r"\d"))


def _changes_ratio(word: str) -> float:
    """Return how often neighbours are of different kinds: capitals, small letters, digits."""
    kinds = ["d" if char.isdigit() else "u" if char.isupper() else "l" for char in word]
    return sum(one is not other for one, other in pairwise(kinds)) / max(1, len(kinds) - 1)


def is_random(word: str, *, shortest: int = 16, hashes: bool = False) -> bool:
    """True if so many characters of the word are in parts that follow no language; parts that are a
    hash count only where they are asked for.
    """
    if len(word) < shortest or (
        _HARMLESS.fullmatch(word) and not (hashes and _HASH.fullmatch(word))
    ):
        return False
    parts = re.split(r"[^A-Za-z0-9]+", word[:4096])
    return sum(len(part) for part in parts if _is_mixed(part, hashes=hashes)) >= min(
        shortest, len(word) * 0.75
    )


def _is_mixed(part: str, *, hashes: bool) -> bool:
    if len(part) < 6 or part.isdigit():
        return False
    if _HASH.fullmatch(part):
        return hashes
    return not _is_camel(part) and _changes_ratio(part) >= 0.25


def is_mixed_part(part: str) -> bool:
    """True for six or more letters and digits that follow no language and are no hash."""
    return _is_mixed(part, hashes=False)


def is_mixed_up(word: str) -> bool:
    """True for one word of capitals, small letters and digits in turn that follows no language."""
    return classes(word) == 3 and _changes_ratio(word) >= _MOST_CHANGES and not _is_camel(word)


def _drawn(key: str) -> bool:
    """True unless what follows the prefix is words only: `hf_overrides` is a setting,
    `key-value-cache` a name, `sk-gateway-6c9d8f7b5d-x2x4z` a pod.
    """
    if len(key) < _SHORTEST_ISSUED and len(parts := re.split(r"[._-]", key)) > 2:
        return not all(part.isalpha() or len(part) <= 5 for part in parts)  # `sk-hynix-HBM3E`
    return _WORDS.fullmatch(key) is None and _OBJECT_NAME.fullmatch(key) is None


_SHORTEST_ISSUED = 20


def is_issued(word: str) -> bool:
    """True if the whole word has the shape of an issuer's keys, and is as random as they are."""
    return _SHAPE.fullmatch(word) is not None and entropy_bits(word) >= RANDOM_BITS


def looks_like_a_key(word: str, *, quoted: bool = False) -> bool:
    """Return True if a word in the place of a key looks like one: mixed and random, or quoted.
    Hashes, ids and ordinary words do not.
    """
    if len(word) < (3 if quoted else SHORTEST) or " " in word.strip() or _HARMLESS.fullmatch(word):
        return False
    if quoted:
        return True
    kinds = sum(bool(re.search(kind, word)) for kind in (r"[a-z]", r"[A-Z]", r"\d", r"[^\w.-]"))
    return (
        kinds >= 2 and entropy_bits(word) >= RANDOM_BITS and bool(re.search(r"\d|[^\w.:/-]", word))
    )


def entropy_bits(word: str) -> float:
    """Shannon entropy of the characters, in bits a character."""
    return (
        -sum(count / len(word) * math.log2(count / len(word)) for count in Counter(word).values())
        if word
        else 0.0
    )
