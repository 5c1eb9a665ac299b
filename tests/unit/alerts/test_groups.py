"""Terms become groups: what is in them, what is left out and why, and the words."""

from __future__ import annotations

import dataclasses
import json
import re

import pytest
import yaml

from barostat.alerts.alert import next_command
from barostat.alerts.groups import WORKLOAD, rules_of
from barostat.alerts.inhibitions import hidden_by, inhibit_rules
from barostat.alerts.named import alerts, capacity_waiting, preempting
from barostat.alerts.terms import Promised, Terms
from barostat.core.change import RARE_PER_FINISHED
from barostat.core.version import parse_version
from barostat.lint.promql import metrics_in
from barostat.shells.cli.main import main, parser
from barostat.symptoms import preemption_heavy, requests_waiting

EVERYTHING = Promised(2.0, 0.2, 30.0, 62_400, 16, 0.9)
BY_NAME = {alert.name: alert for alert in alerts()}


def made(terms: Terms) -> dict[str, dict[str, object]]:
    return {rule["alert"]: rule for rule in rules_of(terms).groups[1]["rules"]}


def test_with_every_promise_no_alert_is_left_out() -> None:
    found = rules_of(Terms(promised=EVERYTHING))
    assert not found.left_out
    assert set(made(Terms(promised=EVERYTHING))) == set(BY_NAME)


def test_what_cannot_be_made_is_left_out_with_the_reason() -> None:
    found = rules_of(Terms(version=parse_version("0.31.0")))
    assert set(found.left_out) == {
        "BarostatSloFastBurn",
        "BarostatSloSlowBurn",
        "BarostatNotAsDeclared",
        "BarostatEngineRefusals",
    }
    assert "--ttft-p99" in found.left_out["BarostatSloFastBurn"]
    assert "0.31.0 has no queue limits" in found.left_out["BarostatEngineRefusals"]


@pytest.mark.parametrize("version", [None, "0.6.6", "0.20.0", "0.33.0"])
def test_an_alert_reads_what_is_recorded_or_what_others_show(version: str | None) -> None:
    terms = Terms(
        version=parse_version(version),
        promised=EVERYTHING,
        labels={"namespace": "inference", "model_name": "m"},
    )
    recordings, alerting = (group["rules"] for group in rules_of(terms).groups)
    recorded = {rule["record"] for rule in recordings}
    for rule in alerting:
        for name in metrics_in(rule["expr"]):
            assert name in recorded or not name.startswith(("replica:", "model:")), (
                f"{rule['alert']} reads {name}"
            )


def test_each_alert_says_where_what_and_which_command() -> None:
    for name, rule in made(Terms(promised=EVERYTHING)).items():
        words = rule["annotations"]
        assert isinstance(words, dict)
        assert "Next: barostat " in words["description"]
        assert words["runbook"] == f"barostat explain {name}"
        assert rule["labels"] == {"severity": BY_NAME[name].severity, "workload": WORKLOAD}


def test_the_command_names_the_target_where_there_is_one() -> None:
    terms = Terms(
        target="deploy/vllm -n inference", workload="chat", runbooks="https://docs.example/alerts"
    )
    rule = made(terms)["BarostatPreempting"]
    assert rule["labels"] == {"severity": "critical", "workload": "chat"}
    assert isinstance(rule["annotations"], dict)
    assert rule["annotations"]["description"].endswith(
        "Next: barostat diagnose deploy/vllm -n inference"
    )
    assert rule["annotations"]["runbook_url"] == "https://docs.example/alerts#barostatpreempting"


def test_without_a_target_the_labels_say_where() -> None:
    assert next_command(BY_NAME["BarostatPreempting"], Terms()).startswith(
        "barostat diagnose {{ if $labels.pod }}pod/"
    )
    assert next_command(BY_NAME["BarostatEngineNotSeen"], Terms()) == "barostat diagnose -A"
    assert (
        next_command(BY_NAME["BarostatEngineNotSeen"], Terms(labels={"namespace": "x"}))
        == "barostat diagnose -n x"
    )
    assert (
        next_command(BY_NAME["BarostatGatewayReplicaDown"], Terms())
        == "barostat diagnose http://{{ $labels.replica }}"
    )


def test_the_thresholds_are_those_of_the_diagnosis() -> None:
    assert (capacity_waiting.FEW, capacity_waiting.FEW_RATIO) == (
        requests_waiting.FEW,
        requests_waiting.FEW_RATIO,
    )
    assert (preempting.HEAVY_PER_FINISHED, preempting.HEAVY_PER_S, preempting.RARE_PER_FINISHED, preempting.FEW) == (
        preemption_heavy.HEAVY_PER_FINISHED, preemption_heavy.HEAVY_PER_S, RARE_PER_FINISHED, preemption_heavy.FEW,
    )  # fmt: skip


def test_what_is_hidden_by_what_hides_is_hidden() -> None:
    hidden = hidden_by(BY_NAME["BarostatOutOfMemory"], alerts())
    assert "BarostatGatewayReplicaDown" in hidden, "by way of BarostatEngineDown"
    assert hidden == sorted(hidden)


def test_inhibitions_are_within_a_workload_of_a_cluster_and_know_only_what_is_there() -> None:
    among = [alert for alert in alerts() if alert.part != "gateway"]
    for rule in inhibit_rules(among):
        assert rule["equal"] == ["cluster", "workload"]
        assert "Gateway" not in rule["target_matchers"][0]


def test_an_alert_is_a_value() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        BY_NAME["BarostatPreempting"].severity = "warning"  # type: ignore[misc]


@pytest.mark.parametrize(
    "terms",
    [
        Terms(),
        Terms(labels={"namespace": "x"}),
        Terms(target="deploy/vllm -n x", limits_file="a.yaml"),
    ],
)
def test_each_next_command_is_one(terms: Terms) -> None:
    for alert in alerts():
        command = re.sub(r"\{\{ if .*\{\{ end \}\}", "pod/vllm-0 -n x", next_command(alert, terms))
        words = re.sub(r"\{\{[^}]*\}\}", "a:8000", command).split()
        assert parser(words[1]).parse_args(words[1:])


def test_the_dashboards_come_with_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "-o", "grafana", "-n", "monitoring"]) == 0
    found = yaml.safe_load(capsys.readouterr().out)
    assert (found["kind"], found["metadata"]["namespace"]) == ("ConfigMap", "monitoring")
    assert found["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert len(found["data"]) == 4
    assert all(json.loads(one)["panels"] for one in found["data"].values())
