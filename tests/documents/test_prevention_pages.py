"""Prevention, and what the classic advice gets wrong: what the pages name is there, and the
versions are those of the catalogue.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from barostat.alerts.named import alerts
from barostat.catalog.metric_names import NAME_ERAS, V0_GONE_IN
from barostat.catalog.settings.defaults import default
from barostat.catalog.settings.table import SETTINGS, canonical_name
from barostat.catalog.vllm_behaviours import BEHAVIOURS
from barostat.core.diagnosis import CAUSES
from barostat.core.limits import EdgeLimits, EngineLimits, RequestLimits
from barostat.core.limits_fields import fields_of
from barostat.core.version import parse_version
from barostat.judge.manifest_check.drift import NAME as DRIFT
from barostat.levers import levers
from barostat.lint.rules import rules
from barostat.shells.cli.main import VERBS

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "guide"
PREVENTION = (GUIDE / "prevention.md").read_text(encoding="utf-8")
CLASSIC = (GUIDE / "classic-advice.md").read_text(encoding="utf-8")
TEXTS = {"prevention": PREVENTION, "classic-advice": CLASSIC}

RULES = {rule.name for rule in rules()}
LIMITS = {
    f"{room}.{key}"
    for room, cls in (("request", RequestLimits), ("engine", EngineLimits), ("edge", EdgeLimits))
    for key in fields_of(cls)
}
DASHBOARDS = {path.stem for path in (ROOT / "deploy" / "dashboards").glob("*.json")}
KNOWN = (
    RULES
    | LIMITS
    | DASHBOARDS
    | {DRIFT, "tenants"}
    | {lever.name for lever in levers()}
    | set(CAUSES)
)
TRIGGERS = {"burst"}
VALUES = {"auto"}
SECTIONS = dict(re.findall(r"^## (.+)\n((?:(?!## ).*\n)+)", CLASSIC, flags=re.MULTILINE))
ERAS = {era.what: era for era in NAME_ERAS}
DEFAULT_SHARE_MOVED = next(
    text
    for text in (f"0.{minor}.0" for minor in range(1, 40))
    if (found := default("gpu_memory_utilization", parse_version(text))) is not None
    and found.value == 0.92
)

# Every version that a section names, as the catalogue has it.
VERSIONS = {
    "Memory at 90 % is a sign of pressure": {
        SETTINGS["gpu_memory_utilization"].since, DEFAULT_SHARE_MOVED, BEHAVIOURS["waiting-by-reason"].since,
    },
    "Lower gpu-memory-utilization to 0.7 or 0.6 to be safe": {
        SETTINGS["gpu_memory_utilization"].since, SETTINGS["kv_cache_memory_bytes"].since, BEHAVIOURS["graphs-in-budget"].since,
    },
    "Add swap space": {
        BEHAVIOURS["v1-default"].since, BEHAVIOURS["swap-space-ignored"].since, BEHAVIOURS["swap-space-ignored"].until,
        BEHAVIOURS["swap-space-refused"].since, SETTINGS["swap_space"].gone,
        SETTINGS["preemption_mode"].gone, SETTINGS["kv_offloading_size"].since,
    },
    "Raise max-num-seqs when requests wait": {BEHAVIOURS["waiting-by-reason"].since},
    "Cut max-num-seqs by a quarter or by half": {SETTINGS["max_num_active_seqs"].since, SETTINGS["watermark"].since},
    "Cut max-num-batched-tokens to reduce pressure": {BEHAVIOURS["full-sequence-admission"].since},
    "Switch on prefix caching and chunked prefill": {
        BEHAVIOURS["prefix-caching-default"].since, BEHAVIOURS["chunked-prefill-default"].since,
    },
    "Scale on GPU utilisation, or on memory": {SETTINGS["gpu_memory_utilization"].since},
    "Page on cache usage above 90 %": {BEHAVIOURS["v1-default"].since, ERAS["vllm:kv_cache_usage_perc"].since},
    "Alert on the metrics of old dashboards": {
        ERAS[name].before
        for name in ("vllm:num_requests_swapped", "vllm:gpu_prefix_cache_hit_rate", "vllm:gpu_cache_usage_perc",
                     "vllm:time_per_output_token_seconds")
    },
    'Look for "preempted" in the log': {BEHAVIOURS["preemption-warning"].until, ERAS["vllm:request_num_preemptions"].since},
    "Lower max-model-len to free memory": {BEHAVIOURS["v1-default"].since, BEHAVIOURS["auto-model-length"].since},
    "A full cache crashes the engine; restart it": {BEHAVIOURS["v1-default"].since},
    "Restart pods that do not answer the liveness probe": set(),
    "The engine's queue protects it": {BEHAVIOURS["queue-limits"].since, ERAS["vllm:admission_rejections"].since},
}  # fmt: skip


def _quoted(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


@pytest.mark.parametrize("page", TEXTS)
def test_every_name_on_the_page_is_there(page: str) -> None:
    quoted = _quoted(TEXTS[page])
    assert len(quoted) > 30
    for words in quoted:
        if words.startswith("barostat ") or words.split()[0] in VERBS:
            verb, flags = (
                (words.split()[1:2] or [""])[0]
                if words.startswith("barostat ")
                else words.split()[0],
                re.findall(r"--[\w-]+", words),
            )
            assert verb in VERBS, words
            help_page = (ROOT / "docs" / "reference" / "command-line.md").read_text(
                encoding="utf-8"
            )
            assert all(flag in help_page for flag in flags), words
        elif words.startswith("Barostat"):
            assert words in {alert.name for alert in alerts()}, words
        elif words.startswith("--profile"):
            assert words == "--profile strict"
        elif words.startswith("--"):
            assert canonical_name(words.split()[0].lstrip("-").replace("-", "_")) in SETTINGS, words
        elif words.startswith("vllm:"):
            assert words in ERAS or words == "vllm:num_preemptions", words
        elif "/" in words:
            assert (ROOT / words).exists(), words
        else:
            assert words in KNOWN | TRIGGERS | VALUES, (
                f"{words}: neither rule, alert, verb, lever, cause, limit nor dashboard"
            )


def test_prevention_has_an_answer_for_every_point_and_says_none_yet_nowhere() -> None:
    tables = (block.split("\n") for block in PREVENTION.split("\n\n"))
    rows = [
        row
        for header, *body in tables
        if header.startswith("| requirement")
        for row in body
        if row.startswith("| ")
    ]
    assert len(rows) >= 28
    assert not [row for row in rows if not _quoted(row)]
    assert "none yet" not in PREVENTION.lower()
    asked = {
        rule.name
        for rule in rules()
        if rule.persona == "pedant" and rule.name.startswith(("no-", "not-"))
    }
    host = {"no-card-for-second-cluster", "no-card-for-surge", "no-drain", "no-model-cache"}
    assert asked - host <= set(_quoted(PREVENTION)), (
        "a limit that a careful team asks for stands on this page"
    )


def test_the_versions_of_the_classic_advice_are_those_of_the_catalogue() -> None:
    assert set(SECTIONS) == set(VERSIONS)
    for heading, expected in VERSIONS.items():
        assert set(re.findall(r"\b0\.\d+\.\d+\b", SECTIONS[heading])) == expected, heading
    assert BEHAVIOURS["preemption-warning"].until == V0_GONE_IN


def test_each_advice_says_what_is_wrong_and_what_to_do_instead() -> None:
    for heading, text in SECTIONS.items():
        assert re.search(r"\*\*(Wrong|Right|Not needed)", text), heading
        assert "**Instead:**" in text or "**Not needed" in text, heading


def test_each_page_leads_to_the_other() -> None:
    assert "(classic-advice.md)" in PREVENTION
    assert "guide/classic-advice.md" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
