"""A rule file is no Helm template, although Prometheus fills in the words of its alerts."""

from __future__ import annotations

import pytest

from barostat.io.manifests.read import document_of, is_template

RULES = """\
groups:
  - name: vllm
    rules:
      - alert: A
        expr: vllm:num_requests_waiting > 0
        annotations:
          summary: '{{ if $labels.pod }}{{ $labels.pod }}{{ else }}{{ or $labels.instance "?" }}{{ end }}: {{ $value | humanize }}'
"""


def test_the_words_of_an_alert_are_no_template() -> None:
    assert not is_template(RULES)
    assert not document_of(RULES, "vllm.rules.yaml").problem


@pytest.mark.parametrize(
    "helm", ["{{ .Values.name }}", '{{ include "x.labels" . }}', "{{- if .Release.IsInstall }}"]
)
def test_a_template_with_alerts_in_it_stays_one(helm: str) -> None:
    assert is_template(RULES + f"# {helm}\n")
    assert is_template(f"a: {helm}\n")
