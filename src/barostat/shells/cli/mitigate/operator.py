"""`barostat operator`: watch every vLLM, report incidents, and heal within its autonomy."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from barostat.shells.cli.diagnose.past import add_prometheus_flags, server_of
from barostat.shells.cli.durations import parse_duration
from barostat.shells.cli.mitigate.common_arguments import add_gateway, gateway_access

if TYPE_CHECKING:
    from barostat.operator.notifications import Webhook
    from barostat.operator.settings import OperatorSettings

EPILOG = """\
examples:
  kubectl apply -f deploy/crds                             # once: the CRDs of PressureIncident and ServingLimits
  barostat operator -n inference                           # watch one namespace; write incidents only
  barostat operator -A                                     # watch the whole cluster
  barostat operator -n inference --autonomy recommend      # add a checked plan to each incident
  barostat operator -n inference --autonomy act --gateway-token-file token    # fix causes, first by limits at the gateway
  kubectl get pressureincidents -A                         # list the incidents

Annotations on a workload, or on its namespace:
  barostat.dev/autonomy: observe|recommend|act     overrides --autonomy
  barostat.dev/operator: disabled                  ignore this workload; on the operator's own namespace: change nothing anywhere
  barostat.dev/quiet-hours: "0 2 * * * 4h"         overrides --quiet-hours

One operator acts at a time (it holds a Lease); the others wait. With --shards N, operators divide the workloads among themselves.
On SIGTERM it finishes the current write and exits; the next operator continues its remedies.
"""
MOST_INTERVAL_S = 15.0
MOST_SHARDS = 64


def add_parser(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser(
        "operator",
        help="watch every vLLM of a cluster, report incidents, and fix them if allowed",
        description=(
            "Watch every vLLM in a namespace or cluster, write a PressureIncident when users are "
            "affected, and fix the cause if --autonomy allows it."
        ),
        epilog=EPILOG,
    )
    cluster = parser.add_argument_group("cluster")
    scope = cluster.add_mutually_exclusive_group()
    scope.add_argument(
        "-n",
        "--namespace",
        metavar="NS",
        help="watch this namespace (default: the namespace of the context)",
    )
    scope.add_argument("-A", "--all-namespaces", action="store_true", help="watch every namespace")
    cluster.add_argument(
        "-l", "--selector", default="", metavar="LABELS", help="watch only pods with these labels"
    )
    cluster.add_argument("--context", metavar="NAME", help="context of the kubeconfig")
    cluster.add_argument(
        "--kubeconfig",
        metavar="FILE",
        help="kubeconfig (default: $KUBECONFIG, ~/.kube/config, the pod's own account)",
    )
    cluster.add_argument(
        "--home",
        metavar="NS",
        help="namespace of the operator's Lease (default: the watched namespace, else that of the context)",
    )
    cluster.add_argument(
        "--via",
        choices=("auto", "pods", "api-server"),
        default="auto",
        help="reach engines by pod address or through the API server (default auto: pod addresses "
        "inside the cluster)",
    )
    add_prometheus_flags(
        parser,
        selector=False,
        title="metrics from Prometheus, Thanos, Mimir or VictoriaMetrics, instead of scraping engines "
        "(except those that it has not scraped for 35 s)",
    )
    policy = parser.add_argument_group("autonomy")
    levels = ("observe", "recommend", "act")
    policy.add_argument(
        "--autonomy",
        choices=levels,
        default="observe",
        help="observe: report; recommend: also plan a change; act: also make it. Annotations and limits "
        "override this (default observe)",
    )
    policy.add_argument(
        "--max-autonomy",
        choices=levels,
        default="act",
        help="highest autonomy that annotations and limits can set (default act)",
    )
    policy.add_argument(
        "--quiet-hours",
        default="",
        metavar="CRON",
        help="start remedies that restart replicas only in these hours: five cron fields in UTC and a duration, e.g. '0 2 * * * 4h'",
    )
    parser.add_argument(
        "--interval",
        dest="interval_s",
        type=parse_duration,
        default=10.0,
        metavar="TIME",
        help="time between two scrapes (default 10s)",
    )
    parser.add_argument(
        "--shards",
        type=int,
        default=1,
        metavar="N",
        help="split the workloads into N shards, each with a Lease; use the same N for all operators "
        "(default 1)",
    )
    listening = parser.add_argument_group("listening")
    listening.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="address to listen on (default 127.0.0.1)",
    )
    listening.add_argument(
        "--port",
        type=int,
        default=8082,
        metavar="N",
        help="port for metrics, probes and Alertmanager's webhook (default 8082)",
    )
    listening.add_argument(
        "--alertmanager-token-file",
        metavar="FILE",
        help="file with the bearer token for Alertmanager's webhook; required unless --host is "
        "loopback",
    )
    told = parser.add_argument_group("notifications")
    told.add_argument(
        "--notify-slack-file",
        action="append",
        default=[],
        metavar="FILE",
        help="file with the URL of a Slack webhook; repeatable",
    )
    told.add_argument(
        "--notify-alertmanager-file",
        action="append",
        default=[],
        metavar="FILE",
        help="file with the URL of a webhook in Alertmanager's format; repeatable",
    )
    told.add_argument(
        "--notify-secret-file",
        metavar="FILE",
        help="file with the secret that signs the messages (HMAC-SHA256)",
    )
    add_gateway(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run until told to stop; answer 0 then. Errors: InputError, OutsideError."""
    import asyncio

    from barostat.core.errors import OutsideError
    from barostat.io.clock import SteadyClock
    from barostat.io.kubernetes.client.kubeconfig import find_access
    from barostat.operator import loop

    access = find_access(arguments.kubeconfig, arguments.context)
    settings = _settings(arguments, access.namespace)

    async def go() -> int:
        return await loop.run(loop.made_all(settings, access, SteadyClock(), _say))

    where = settings.namespace or "all namespaces"
    _say(f"watching {where}, autonomy {settings.defaults.autonomy}, as {settings.identity}")
    try:
        code = asyncio.run(go())
    except OSError as error:
        if error.filename is None and error.errno is not None:
            raise OutsideError(
                f"cannot listen on {settings.host}:{settings.port}: {error.strerror}",
                retryable=False,
            ) from None
        raise
    _say("stopped")
    return code


def _settings(arguments: argparse.Namespace, own: str) -> OperatorSettings:
    """Errors: InputError for what cannot be meant."""
    from pathlib import Path

    from barostat.core.errors import InputError
    from barostat.io.input_files.secret_file import secret_in
    from barostat.io.mitigation.driver import new_holder
    from barostat.operator.policy import Defaults, quiet_hours
    from barostat.operator.settings import OperatorSettings

    if not 0 <= arguments.port < 65536:
        raise InputError("is no port", f"--port {arguments.port}")
    if not 1.0 <= arguments.interval_s <= MOST_INTERVAL_S:
        raise InputError(
            f"must be 1 s to {MOST_INTERVAL_S:g} s: harm is to be seen within 30 s",
            f"--interval {arguments.interval_s:g}s",
        )
    if not 1 <= arguments.shards <= MOST_SHARDS:
        raise InputError(f"must be 1 to {MOST_SHARDS}", f"--shards {arguments.shards}")
    token_file = arguments.alertmanager_token_file
    namespace = None if arguments.all_namespaces else arguments.namespace or own
    quiet = quiet_hours(arguments.quiet_hours) if arguments.quiet_hours else None
    return OperatorSettings(
        namespace,
        arguments.home or namespace or own,
        new_holder(),
        Defaults(arguments.autonomy, arguments.max_autonomy, quiet),
        arguments.interval_s,
        arguments.selector,
        arguments.via,
        host=arguments.host,
        port=arguments.port,
        alertmanager_token=secret_in(Path(token_file)) if token_file else "",
        webhooks=_webhooks(arguments),
        gateway=gateway_access(arguments),
        shards=arguments.shards,
        prometheus=server_of(arguments) if arguments.prometheus is not None else None,
    )


def _webhooks(arguments: argparse.Namespace) -> tuple[Webhook, ...]:
    """Errors: InputError for a file that holds no URL."""
    from pathlib import Path

    from barostat.core.errors import InputError
    from barostat.io.input_files.secret_file import secret_in
    from barostat.operator.notifications import Form, Webhook

    secret_file = arguments.notify_secret_file
    secret = secret_in(Path(secret_file)) if secret_file else ""
    files: list[tuple[Form, str]] = [
        *(("slack", name) for name in arguments.notify_slack_file),
        *(("alertmanager", name) for name in arguments.notify_alertmanager_file),
    ]
    found = []
    for form, name in files:
        url = secret_in(Path(name))
        if not url.startswith(("http://", "https://")):
            raise InputError("does not hold a URL", name)
        found.append(Webhook(form, url, secret))
    return tuple(found)


def _say(text: str) -> None:
    """A line of its log, without credentials."""
    from barostat.core.redaction.credentials import clean
    from barostat.shells.cli.closed_output import print_or_let_go

    print_or_let_go(clean(text), sys.stderr)
