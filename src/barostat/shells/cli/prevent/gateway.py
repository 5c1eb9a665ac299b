"""`barostat gateway`: enforces the limits in front of the engines."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from barostat.gateway.messages.guarded import GUARDED_PARAMETERS
from barostat.shells.cli.durations import seconds

if TYPE_CHECKING:
    from barostat.gateway.settings import FollowedWorkload

EPILOG = """\
examples:
  barostat gateway --limits limits.yaml --upstream http://127.0.0.1:8000
  barostat gateway --limits limits.yaml --upstream http://a:8000 --upstream http://b:8000 --shadow
  barostat gateway deploy/vllm -n inference --limits limits.yaml --host 0.0.0.0      # follows the workload's ready pods
  barostat gateway --limits limits.yaml --upstream http://a:8000 --keys keys.txt --tls-cert tls.crt --tls-key tls.key --host 0.0.0.0

A limits file with `request` and `slo` is enough: the size of the KV pool is read from the engine. SIGHUP or a
change of the file reloads the limits; SIGTERM drains. Metrics, probes and the limits in force are on --admin-port.
"""


_ANY = frozenset({"0.0.0.0", "::", ""})


def add_parser(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser(
        "gateway",
        help=(
            "admit requests by the KV cache they are expected to use, in front of one or more engines"
        ),
        description=(
            "Enforce a limits file in front of the engines: admit, queue, cap or reject each request "
            "by the KV cache it is expected to use."
        ),
        epilog=EPILOG,
    )
    parser.add_argument(
        "--limits", required=True, type=Path, metavar="FILE", help="the limits file"
    )
    parser.add_argument(
        "target",
        nargs="?",
        metavar="KIND/NAME",
        help="use the pods of this workload: ready pods are added, terminating pods are drained",
    )
    parser.add_argument(
        "--upstream",
        action="append",
        default=[],
        metavar="URL",
        help="use the engine at this URL; repeatable",
    )
    parser.add_argument(
        "--shadow",
        action="store_true",
        help="forward every request unchanged; count those that would be rejected, queued or capped",
    )
    parser.add_argument(
        "--allow-path",
        action="append",
        default=[],
        metavar="PATH",
        help=(
            "also forward requests to this path, without reading or limiting them: PATH, 'METHOD PATH' or "
            "PATH/*; repeatable"
        ),
    )
    parser.add_argument(
        "--allow-parameter",
        action="append",
        default=[],
        choices=GUARDED_PARAMETERS,
        metavar="NAME",
        help=(
            "accept requests with this parameter, although it makes their length unknown: "
            f"{', '.join(GUARDED_PARAMETERS)}; repeatable"
        ),
    )
    listening = parser.add_argument_group("listening")
    listening.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="address to listen on (default 127.0.0.1: this machine only)",
    )
    listening.add_argument(
        "--port", type=int, default=8080, metavar="N", help="port to listen on (default 8080)"
    )
    listening.add_argument(
        "--admin-host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="address for --admin-port (default 127.0.0.1)",
    )
    listening.add_argument(
        "--admin-port",
        type=int,
        default=8081,
        metavar="N",
        help="port for metrics, probes and the limits in force (default 8081)",
    )
    listening.add_argument(
        "--admin-token-file",
        type=Path,
        metavar="FILE",
        help="file with the token that allows its holder to set temporary limits",
    )
    listening.add_argument(
        "--ext-proc",
        metavar="HOST:PORT",
        help="also listen on this address as Envoy's external processor",
    )
    listening.add_argument(
        "--tls-cert", type=Path, metavar="FILE", help="serve TLS with this certificate chain"
    )
    listening.add_argument("--tls-key", type=Path, metavar="FILE", help="private key of --tls-cert")
    shared = parser.add_argument_group("several gateways")
    shared.add_argument(
        "--shared-budget",
        metavar="URL",
        help="Redis through which gateways share the engines' KV budgets: redis://host:6379/0",
    )
    shared.add_argument(
        "--shared-budget-name",
        default="barostat",
        metavar="NAME",
        help="name of the shared budget; use the same on all gateways that share it (default barostat)",
    )
    keys = parser.add_argument_group("keys")
    keys.add_argument(
        "--keys",
        type=Path,
        metavar="FILE",
        help="file with `tenant: key` lines (default: no authentication)",
    )
    keys.add_argument(
        "--engine-key-file",
        type=Path,
        metavar="FILE",
        help="file with the API key of the engines, sent instead of the client's key",
    )
    keys.add_argument(
        "--upstream-ca",
        type=Path,
        metavar="FILE",
        help="CA certificates for https engines (default: the system's)",
    )
    cluster = parser.add_argument_group("cluster")
    cluster.add_argument(
        "-n",
        "--namespace",
        metavar="NS",
        default="",
        help="namespace of the workload (default: the namespace of the context)",
    )
    cluster.add_argument("--context", metavar="NAME", help="context of the kubeconfig")
    cluster.add_argument(
        "--kubeconfig",
        metavar="FILE",
        help="kubeconfig (default: $KUBECONFIG, ~/.kube/config, the pod's own account)",
    )
    bounds = parser.add_argument_group("bounds")
    bounds.add_argument(
        "--max-body-mib",
        type=float,
        default=32.0,
        metavar="N",
        help="maximum size of a request body, in MiB (default 32)",
    )
    bounds.add_argument(
        "--drain-timeout",
        type=seconds,
        default=30.0,
        metavar="S",
        help="seconds that open requests have to finish after SIGTERM (default 30)",
    )
    bounds.add_argument(
        "--engine-timeout",
        type=seconds,
        default=900.0,
        metavar="S",
        help="end a request if its engine sends nothing for S seconds (default 900)",
    )
    parser.add_argument(
        "--access-log",
        metavar="FILE",
        help="write a JSON line per request to FILE, without prompts and keys; - for standard error",
    )
    parser.set_defaults(run=run)


def _followed(arguments: argparse.Namespace) -> FollowedWorkload | None:
    """Return the workload whose pods are the engines; None if --upstream names them. Errors:
    InputError for both, neither, or an invalid workload.
    """
    from barostat.core.errors import InputError
    from barostat.gateway.settings import FollowedWorkload
    from barostat.io.kubernetes.recording.target import parsed

    if arguments.target is None:
        if not arguments.upstream:
            raise InputError(
                "name the engines: --upstream URL for each, or KIND/NAME for the pods of a "
                "workload",
                "gateway",
            )
        return None
    if "://" in arguments.target:
        raise InputError(f"an engine is named with --upstream {arguments.target}", arguments.target)
    if arguments.upstream:
        raise InputError(
            "the engines are its pods: remove --upstream or the target", arguments.target
        )
    if arguments.ext_proc:
        raise InputError(
            "needs --upstream for each engine, because Envoy picks the engine", "--ext-proc"
        )
    kind, name = parsed(arguments.target)
    return FollowedWorkload(
        name, arguments.namespace, arguments.context, arguments.kubeconfig, kind.api.kind
    )


def run(arguments: argparse.Namespace) -> int:
    """Serve until stopped; return 0."""
    from barostat.core.errors import InputError
    from barostat.gateway.bounds import Bounds
    from barostat.gateway.messages.target import allowed_path
    from barostat.gateway.replica import upstream_address
    from barostat.gateway.server import serve
    from barostat.gateway.settings import GatewaySettings

    for name in ("port", "admin_port"):
        if not 0 < getattr(arguments, name) < 65536:
            raise InputError("is no port", f"--{name.replace('_', '-')} {getattr(arguments, name)}")
    if arguments.port == arguments.admin_port and (
        arguments.host == arguments.admin_host or _ANY & {arguments.host, arguments.admin_host}
    ):
        raise InputError(
            "is also the port of --port: use two different ports",
            f"--admin-port {arguments.admin_port}",
        )
    for name in ("max_body_mib", "drain_timeout", "engine_timeout"):
        if not 0 < getattr(arguments, name) < 1e6:
            raise InputError(
                "must be above 0, and below a million",
                f"--{name.replace('_', '-')} {getattr(arguments, name):g}",
            )
    follow = _followed(arguments)
    upstreams = tuple(upstream_address(url) for url in arguments.upstream)
    names = [address.name for address in upstreams]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"names the same engine twice: {name}", "--upstream")
    bounds = Bounds(
        body_bytes=int(arguments.max_body_mib * (1 << 20)),
        drain_s=arguments.drain_timeout,
        silent_s=arguments.engine_timeout,
    )
    return serve(
        GatewaySettings(
            limits_file=arguments.limits,
            upstreams=upstreams,
            follow=follow,
            host=arguments.host,
            port=arguments.port,
            admin_host=arguments.admin_host,
            admin_port=arguments.admin_port,
            admin_token_file=arguments.admin_token_file,
            keys_file=arguments.keys,
            engine_key_file=arguments.engine_key_file,
            tls_cert=arguments.tls_cert,
            tls_key=arguments.tls_key,
            upstream_ca=arguments.upstream_ca,
            shadow=arguments.shadow,
            allowed_paths=tuple(allowed_path(text) for text in arguments.allow_path),
            allowed_parameters=frozenset(arguments.allow_parameter),
            access_log=arguments.access_log,
            ext_proc=arguments.ext_proc,
            shared_budget=arguments.shared_budget,
            shared_budget_name=arguments.shared_budget_name,
            bounds=bounds,
        )
    )
