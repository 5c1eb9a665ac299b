"""The room of the alerts keeps its order: every alert has its page, its name and words, and hides
only what it may.
"""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from barostat.alerts import named as package
from barostat.alerts.alert import Alert
from barostat.alerts.groups import rules_of
from barostat.alerts.healthy_hours import FIRED
from barostat.alerts.inhibitions import hidden_by
from barostat.alerts.named import alerts
from barostat.alerts.terms import Promised, Terms
from barostat.core.rules import module_names
from barostat.io.manifests.read import document_of, limits_complaints
from barostat.judge.manifest_check.check import check
from barostat.lint.promql import metrics_in
from barostat.shells.reports.rule_pages import summary

ROOT = Path(__file__).resolve().parents[2]
SECTIONS = ["Meaning", "Impact", "Evidence", "Not evidence", "Mitigation", "Source"]
NAMES = module_names(package.__path__)
BY_NAME = {alert.name: alert for alert in alerts()}
EVERYTHING = Terms(promised=Promised(2.0, 0.2, 30.0, 62_400, 16, 0.9))


def test_the_room_was_scanned() -> None:
    assert len(NAMES) >= 15
    assert len(BY_NAME) == len(NAMES)
    assert set(FIRED) <= set(BY_NAME)


@pytest.mark.parametrize("name", NAMES)
def test_an_alert_has_its_page_its_name_and_its_words(name: str) -> None:
    module = importlib.import_module(f"{package.__name__}.{name}")
    alert: Alert = module.ALERT
    assert alert.name == "Barostat" + "".join(map(str.capitalize, name.split("_")))
    page = module.__doc__ or ""
    assert (
        re.findall(
            r"^(Meaning|Impact|Evidence|Not evidence|Mitigation|Source): \S", page, re.MULTILINE
        )
        == SECTIONS
    )
    assert summary(page).endswith((".", ":"))
    assert len(alert.title) <= 60
    assert 0 <= alert.holds_s < alert.within_s <= 3600
    assert "{{" in alert.found or name == "engine_not_seen", "it does not say where"


def test_nothing_hides_what_is_graver_or_itself() -> None:
    for alert in alerts():
        assert set(alert.hides) <= set(BY_NAME)
        hidden = hidden_by(alert, alerts())
        assert alert.name not in {
            name for one in hidden for name in hidden_by(BY_NAME[one], alerts())
        }, f"{alert.name}: a circle"
        if alert.severity == "warning":
            assert not [name for name in hidden if BY_NAME[name].severity == "critical"], alert.name


def test_nobody_is_woken_by_heat() -> None:
    """No alert reads the card's memory, its utilisation, power or temperature; none holds usage
    against a level but for a trend.
    """
    for rule in rules_of(EVERYTHING).groups[1]["rules"]:
        read = metrics_in(rule["expr"])
        assert not [
            name
            for name in read
            if re.search(r"FB_USED|FB_FREE|GPU_UTIL|vram|POWER|TEMP", name, re.IGNORECASE)
        ], rule["alert"]
        assert "kv_usage" not in rule["expr"] or rule["alert"] == "BarostatExhaustionForecast"


def test_our_own_check_finds_nothing_in_them() -> None:
    document = document_of(
        (ROOT / "deploy" / "alerts" / "vllm.rules.yaml").read_text(), "vllm.rules.yaml"
    )
    assert not document.problem
    found = check([document], persona="pedant", complaints=limits_complaints)
    assert found.scene.queries
    assert not [one.message for one in found.findings]


def test_dashboards_and_rules_in_deploy_are_current() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "dev" / "dashboards" / "build.py", "--check"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
