"""Which pods are the engines'."""

from __future__ import annotations

from barostat.alerts.pods import of_engines
from barostat.alerts.terms import Terms


def test_a_pod_that_is_selected_need_never_have_shown_a_metric() -> None:
    found = of_engines(
        'x{labels_and_reason="OOMKilled"}',
        Terms(labels={"namespace": "n", "pod": "~v-.*", "model_name": "m"}),
    )
    assert found == 'x{namespace="n",pod=~"v-.*",reason="OOMKilled"}'


def test_else_it_is_known_by_its_metrics() -> None:
    found = of_engines("x{labels} > 0", Terms())
    assert found.startswith("(x > 0) * on (namespace, pod) group_left (model_name) ")
    assert "count_over_time(vllm:num_requests_running[1h])" in found
