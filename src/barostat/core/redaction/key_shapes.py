"""What a key looks like by itself: issuers' prefixes, and randomness; and what looks random and is
none: hashes, digests, uuids, ids.

Source: the prefixes are what the issuers document, and what public secret scanners look for.
"""

from __future__ import annotations

import math
import re
from collections import Counter

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
        r"gl(?:pat|dt|cbt|rt|ft|soat|ffct|imt|agent|ptt)-[A-Za-z0-9_-]{8,}",
    ),
    (("AKIA", "ASIA", "ABIA", "ACCA"), r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{8,}"),
    (("AIza",), r"AIza[A-Za-z0-9_-]{10,}"),
    (("ya29.", "GOCSPX-"), r"(?:ya29\.|GOCSPX-)[A-Za-z0-9_-]{8,}"),
    (("xox", "xapp-"), r"(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{8,}"),
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
        ("npm_", "gsk_", "r8_", "fw_", "lin_api_", "rubygems_", "sntrys_", "sntryu_"),
        r"(?:npm|gsk|r8|fw|lin_api|rubygems|sntry[su])_[A-Za-z0-9_]{8,}",
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
)
_STARTS = tuple(start for starts, _ in _PREFIXED for start in starts)
_SHAPE = re.compile(r"(?<![A-Za-z0-9])(?:" + "|".join(shape for _, shape in _PREFIXED) + ")")
_HARMLESS = re.compile(
    r"(?:sha(?:1|256|512):)?[0-9a-f]{32}|(?:sha(?:1|256|512):)?[0-9a-f]{40}|(?:sha(?:1|256|512):)?[0-9a-f]{64}"
    r"|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[a-z_]{1,40}[=:]\d{1,9}(?:[.,]\d{1,9})?|(?:chatcmpl|cmpl|resp|msg|req|embd|score|rerank|pool)-[\w-]+|(?:[a-z]+[._/-])*[a-z]+|v?\d+(?:[.:,]\d+)*\w{0,3}",
    re.IGNORECASE,
)
_WORDS = re.compile(r"(?:[a-z][a-z0-9]{1,3}|[A-Z]{2})[_.-](?:[a-z]{1,16}[_.-])*[a-z]{1,16}")
SHORTEST = 6
RANDOM_BITS = 2.5
"""Shannon entropy a character, in bits: words of a language stay below it at such lengths, random
keys do not.
"""


def without_shapes(text: str, instead: str) -> str:
    """The text with every key that its prefix gives away replaced."""
    for (
        start
    ) in _STARTS:  # a loop: every line of a long log comes here, and `any` costs it a third more
        if start in text:
            return _SHAPE.sub(lambda found: instead if _drawn(found[0]) else found[0], text)
    return text


def _drawn(key: str) -> bool:
    """True unless what follows the prefix is words only: `hf_overrides` is a setting,
    `key-value-cache` a name.
    """
    return _WORDS.fullmatch(key) is None


def is_issued(word: str) -> bool:
    """True if the whole word has the shape of an issuer's keys, and is as random as they are."""
    return _SHAPE.fullmatch(word) is not None and entropy_bits(word) >= RANDOM_BITS


def looks_like_a_key(word: str, *, quoted: bool = False) -> bool:
    """True if a word that stands where a key is named looks like one: mixed and random, or quoted;
    hashes, ids and words do not.
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
