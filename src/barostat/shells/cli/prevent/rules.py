"""`barostat rules`: Prometheus rules made from the limits and from what runs, that fire on harm and
not on heat.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from barostat.shells.cli.durations import seconds

FORMATS = ("file", "prometheusrule", "thanos", "mimir", "alertmanager", "grafana")
EPILOG = """\
examples:
  barostat rules --limits limits.yaml > vllm.rules.yaml          # recording rules and alerts
  barostat rules deploy/vllm -n inference --limits limits.yaml   # with the labels and the served name of a workload (read only)
  barostat rules http://localhost:8000 --ttft-p99 2              # without a limits file
  barostat rules --limits limits.yaml -o prometheusrule | kubectl apply -f -
  barostat rules -o alertmanager                                 # which alert suppresses which
  barostat rules -o grafana -n monitoring | kubectl apply -f -   # the dashboards, as a ConfigMap for Grafana's sidecar
  barostat explain BarostatPreempting                            # the page of an alert

The rules work for vLLM 0.6 to 0.33, so they still work after an upgrade; --engine-version keeps only the metric names of one version.
"""


def add_parser(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser(
        "rules",
        help="write Prometheus rules from the limits or a running workload",
        description=(
            "Print Prometheus rules that fire on harm (waiting, preemption, stalled tokens, a "
            "burning error budget), never on high memory alone."
        ),
        epilog=EPILOG,
    )
    parser.add_argument(
        "target",
        nargs="?",
        metavar="TARGET",
        help="http://host:8000, deploy/NAME, or a recorded bundle (read-only)",
    )
    parser.add_argument(
        "--limits",
        type=Path,
        metavar="FILE",
        help="limits file with the SLO and the capacity it was derived from",
    )
    parser.add_argument(
        "-o",
        "--output",
        choices=FORMATS,
        default="file",
        help="format (default file: a Prometheus rule file)",
    )
    promised = parser.add_argument_group("SLO, if no limits file states it")
    promised.add_argument(
        "--ttft-p99", type=seconds, metavar="S", help="p99 of the time to first token, in seconds"
    )
    promised.add_argument(
        "--itl-p99", type=seconds, metavar="S", help="p99 of the time between tokens, in seconds"
    )
    watched = parser.add_argument_group("which series")
    watched.add_argument(
        "--label",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="label to select by, as Prometheus has it; ~VALUE is a regular expression; repeatable",
    )
    watched.add_argument(
        "--engine-version",
        metavar="X.Y.Z",
        help="use only the metric names of this version (default: those of 0.6 to 0.33)",
    )
    watched.add_argument(
        "--without",
        action="append",
        default=[],
        choices=("engine", "slo", "gateway", "pod", "card"),
        help="omit the rules on these series; repeatable",
    )
    parser.add_argument(
        "--name",
        metavar="NAME",
        help="workload name for labels and rule groups (default: from the limits or the target)",
    )
    parser.add_argument(
        "--docs-url", metavar="URL", help="URL of the published page of alerts, for runbook_url"
    )
    cluster = parser.add_argument_group("cluster (read-only)")
    cluster.add_argument("-n", "--namespace", metavar="NS", help="namespace of the target")
    cluster.add_argument("--context", metavar="NAME", help="context of the kubeconfig")
    cluster.add_argument(
        "--kubeconfig", metavar="FILE", help="kubeconfig file (default: as for kubectl)"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the rules; answer 0. What was left out, and why, goes to stderr."""
    if arguments.output == "grafana":
        from barostat.shells.dashboards import config_map

        sys.stdout.write(config_map(arguments.namespace))
        return 0
    from barostat.alerts.groups import rules_of
    from barostat.alerts.named import alerts
    from barostat.shells.cli.prevent.rules_forms import rendered
    from barostat.shells.cli.prevent.rules_inputs import terms_asked

    terms = terms_asked(arguments)
    among = [alert for alert in alerts() if alert.part not in arguments.without]
    found = rules_of(terms, among=among)
    sys.stdout.write(rendered(found, among, arguments.output, terms.workload))
    if arguments.output != "alertmanager":
        for name, why in found.left_out.items():
            print(f"barostat: {name} is left out: {why}", file=sys.stderr)
        if not arguments.docs_url:
            print(
                "barostat: alerts name `barostat explain NAME` as their runbook; --docs-url URL makes "
                "it a link to the page of alerts where you publish it",
                file=sys.stderr,
            )
    return 0
