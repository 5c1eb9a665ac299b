"""`promtool test rules` of a real Prometheus: which alerts fire on these series, and when first."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from dev.promtool_series import STEP_S, Series, input_series
from dev.setup_prometheus import PROGRAM, is_installed

from barostat.alerts.groups import rules_of
from barostat.alerts.named import alerts
from barostat.alerts.terms import Terms

PROMTOOL = PROGRAM.with_name("promtool")


def needed() -> None:
    """Promtool is here, else the test is skipped (with CI=true: fails)."""
    if not is_installed():
        why = "Prometheus is not here: run `make prometheus`"
        pytest.fail(why) if os.environ.get("CI") == "true" else pytest.skip(why)


@dataclass(frozen=True, slots=True)
class Play:
    """Series under rules of these terms; `name` is for a person. `beside`: terms of other
    workloads, whose rules are loaded too.
    """

    name: str
    series: Series
    terms: Terms
    beside: tuple[Terms, ...] = ()

    @property
    def seconds(self) -> float:
        """How long it is played."""
        return (len(next(iter(self.series.values()))) - 1) * STEP_S


def firing_after(
    folder: Path,
    play: Play,
    expected: Sequence[str],
    at_s: float,
    since_s: float = 0.0,
    by: str = "alertname",
) -> str:
    """Empty where exactly these alerts have fired by then, else what promtool says.

    Asked of ALERTS, which Prometheus writes itself: every alert that was firing at some look since
    then. `by`: its labels that are told.
    """
    rules, test = folder / "rules.yaml", folder / "test.yaml"
    rules.write_text(
        yaml.safe_dump(
            {
                "groups": [
                    group
                    for terms in (play.terms, *play.beside)
                    for group in rules_of(terms).groups
                ]
            },
            sort_keys=False,
        )
    )
    fired = (
        f"count by ({by}) "
        f'(count_over_time(ALERTS{{alertstate="firing"}}[{at_s + 60 - since_s:g}s])) > bool 0'
    )
    document = {
        "rule_files": [str(rules)],
        "evaluation_interval": f"{STEP_S:g}s",
        "tests": [
            {
                "name": play.name,
                "interval": f"{STEP_S:g}s",
                "input_series": input_series(play.series),
                "promql_expr_test": [
                    {
                        "expr": fired,
                        "eval_time": f"{at_s:g}s",
                        "exp_samples": [
                            {"labels": f'{{alertname="{name}"}}', "value": 1} for name in expected
                        ],
                    }
                ],
            }
        ],
    }
    test.write_text(yaml.safe_dump(document, sort_keys=False, width=10**6))
    done = subprocess.run(
        [str(PROMTOOL), "test", "rules", str(test)], capture_output=True, text=True, timeout=300
    )
    return "" if done.returncode == 0 else done.stdout + done.stderr


def evaluated(
    folder: Path,
    series: Mapping[str, str],
    every_s: float,
    query: str,
    at_s: float,
    expected: float,
) -> str:
    """Empty where the query, which leaves no labels, comes to that at that instant, else what
    promtool says. `series`: as it has them.
    """
    test = folder / "query.yaml"
    asked = {
        "expr": query,
        "eval_time": f"{at_s:g}s",
        "exp_samples": [{"labels": "{}", "value": expected}],
    }
    written = [{"series": name, "values": values} for name, values in series.items()]
    document = {
        "tests": [
            {"interval": f"{every_s:g}s", "input_series": written, "promql_expr_test": [asked]}
        ]
    }
    test.write_text(yaml.safe_dump(document, sort_keys=False, width=10**6))
    done = subprocess.run(
        [str(PROMTOOL), "test", "rules", str(test)], capture_output=True, text=True, timeout=60
    )
    return "" if done.returncode == 0 else done.stdout + done.stderr


def firing_at(folder: Path, play: Play, at_s: float) -> set[str]:
    """The alerts that fire then, or have within the minute before."""
    return fired_by(folder, play, at_s, at_s)


def fired_by(folder: Path, play: Play, at_s: float, since_s: float = 0.0) -> set[str]:
    """The alerts that have fired by then, as promtool tells them where nothing was expected."""
    said = firing_after(folder, play, ["none of them"], at_s, since_s)
    got = said.partition("got:")[2]
    names = set(re.findall(r'alertname="(\w+)"', got))
    assert names <= {alert.name for alert in alerts()}, said
    assert said, "promtool took an alert that does not exist for one that fires"
    assert "got:" in said or "nil" in said, said
    return names
