"""Series of kube-state-metrics about the engines' pods: by the labels that select them, or by the
pods that show vLLM's metrics.
"""

from __future__ import annotations

from barostat.alerts.terms import Terms
from barostat.catalog import metric_names as vllm


def of_engines(expression: str, terms: Terms) -> str:
    """Restrict the expression to the engines' pods. `{labels}` in it stands for matchers,
    `{labels_and_X}` for matchers and X.

    A pod that is selected by name need not have metrics, so a pod that crashes at start is
    included. Otherwise the model's name is joined in, so that the alert has the same workload label
    as the engines' alerts and can inhibit them.
    """
    matchers = terms.matchers("namespace", "pod")
    inside = matchers[1:-1]
    filled = expression.replace("{labels}", matchers).replace(
        "{labels_and_", "{" + (f"{inside}," if inside else "")
    )
    if "pod" in terms.labels:
        return filled
    seen = (
        "max by (namespace, pod, model_name) "
        f"(count_over_time({vllm.RUNNING[0]}{terms.matchers()}[{terms.span(3600.0)}]))"
    )
    # one of them, where the pod served several within the hour
    model = f"(topk by (namespace, pod) (1, {seen}) > bool 0)"
    return f"({filled}) * on (namespace, pod) group_left (model_name) {model}"
