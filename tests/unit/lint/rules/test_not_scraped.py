"""Monitors and annotations beside an engine: what is scraped, what is not, and what cannot be
told.
"""

from __future__ import annotations

import pytest

from barostat.io.manifests.read import document_of
from barostat.judge.manifest_check.check import check

POD = (
    "{kind: Pod, apiVersion: v1, metadata: {name: a, labels: {app: a}%s}, spec: "
    "{containers: [{name: a, image: 'vllm/vllm-openai:v0.32.0', "
    "args: ['--model', 'Qwen/Qwen3-8B'], ports: [{name: api, containerPort: 8000}]}]}}\n"
)
SERVICE = (
    "---\n{kind: Service, apiVersion: v1, metadata: {name: s, labels: {tier: llm}%s}, spec: "
    "{selector: {app: a}, ports: [{name: http}]}}\n"
)
MONITOR = (
    "---\n{kind: %s, apiVersion: monitoring.coreos.com/v1, metadata: {name: m}, spec: "
    "{selector: {matchLabels: {%s}}, %s: [{port: %s}]}}\n"
)
ALERTS = "---\ngroups: [{name: g, rules: [{alert: W, expr: 'vllm:num_requests_waiting > 5'}]}]\n"
SCRAPED = ", annotations: {prometheus.io/scrape: 'true'}"


def told(text: str, persona: str = "pedant") -> list[str]:
    found = check([document_of(text, "a.yaml")], persona=persona).findings  # type: ignore[arg-type]
    return [one.message for one in found if one.rule == "not-scraped"]


def service_monitor(labels: str, port: str) -> str:
    return MONITOR % ("ServiceMonitor", labels, "endpoints", port)


def pod_monitor(labels: str, port: str) -> str:
    return MONITOR % ("PodMonitor", labels, "podMetricsEndpoints", port)


def test_a_workload_alone_is_not_asked_who_scrapes_it() -> None:
    assert told(POD % "") == []


@pytest.mark.parametrize("beside", [SERVICE % "", ALERTS])
def test_what_is_opened_or_watched_is_but_a_note_for_the_careful(beside: str) -> None:
    assert told(POD % "" + beside) == ["nothing here scrapes the metrics of Pod a, container a"]
    assert told(POD % "" + beside, "ordinary") == []


@pytest.mark.parametrize(
    "text",
    [
        POD % SCRAPED + SERVICE % "",
        POD % "" + SERVICE % SCRAPED,
        POD % ", annotations: {ad.datadoghq.com/a.checks: '{}'}" + SERVICE % "",
        POD % "" + SERVICE % "" + service_monitor("tier: llm", "http"),
        POD % "" + SERVICE % "" + pod_monitor("app: a", "api"),
        POD % "" + SERVICE % "" + "---\nscrape_configs: [{job_name: vllm}]\n",
        POD % ""
        + SERVICE % ""
        + "---\n{kind: OpenTelemetryCollector, metadata: {name: o}, spec: {config: ''}}\n",
        POD % ""
        + SERVICE % ""
        + (
            "---\n{kind: ServiceMonitor, metadata: {name: m}, spec: {selector: "
            "{matchExpressions: [{key: x}]}}}\n"
        ),
    ],
)
def test_what_is_scraped_or_may_be_is_left_alone(text: str) -> None:
    assert told(text) == []


def test_an_annotation_that_says_no_asks_for_nothing() -> None:
    assert told(POD % SCRAPED.replace("true", "false") + SERVICE % "") == [
        "nothing here scrapes the metrics of Pod a, container a"
    ]


def test_a_monitor_that_misses_is_shown_to_everybody() -> None:
    by_selector = POD % "" + SERVICE % "" + service_monitor("app: a", "http")
    assert told(by_selector, "ordinary") == [
        (
            "ServiceMonitor m takes Services with app=a, and no Service here has that: nothing "
            "scrapes a"
        )
    ]
    assert told(POD % "" + SERVICE % "" + service_monitor("tier: llm", "metrics"), "ordinary") == [
        "ServiceMonitor m asks for the port metrics, and s has none of that name"
    ]
    assert told(POD % "" + SERVICE % "" + pod_monitor("app: a", "http"), "ordinary") == [
        "PodMonitor m asks for the port http, and a has none of that name"
    ]


def test_a_monitor_among_others_may_be_about_something_else() -> None:
    others = service_monitor("app: other", "http") + service_monitor("app: third", "http")
    assert told(POD % "" + SERVICE % "" + others, "ordinary") == []
    assert told(POD % "" + SERVICE % "" + others) == [
        "nothing here scrapes the metrics of Pod a, container a"
    ]


def test_a_namespace_that_only_one_of_them_names_may_be_the_same() -> None:
    service = SERVICE % SCRAPED
    assert told(POD % "" + service.replace("name: s,", "name: s, namespace: default,")) == []
    assert (
        told(POD.replace("name: a, labels", "name: a, namespace: one, labels") % "" + service) == []
    )
    apart = POD.replace("name: a, labels", "name: a, namespace: one, labels") % ""
    assert told(apart + service.replace("name: s,", "name: s, namespace: two,")) == [
        "nothing here scrapes the metrics of Pod a, container a"
    ]
