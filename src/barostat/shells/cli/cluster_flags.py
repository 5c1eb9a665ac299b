"""The flags that name a cluster and pods in it, as kubectl spells them; and what they mean."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from barostat.catalog.polling import FLEET_FOR_S, FOR_S

if TYPE_CHECKING:
    from barostat.io.kubernetes.recording.target import Wanted

FOR_HELP = f"observe for this long, e.g. 30s or 2m (default {FOR_S:g}s; {FLEET_FOR_S:g}s with -A)"


def add_targets(
    parser: argparse.ArgumentParser,
    what: str = "a URL (http://host:8000), or deploy/NAME, sts/NAME, lws/NAME or pod/NAME in a cluster",
) -> None:
    """Add the targets of a verb. `what`: they may be, for its help."""
    parser.add_argument("target", nargs="*", action=_Targets, metavar="TARGET", help=what)


class _Targets(argparse.Action):
    """Takes the targets of a verb, in kubectl's spellings too."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Keep them."""
        del parser, option_string
        from barostat.io.kubernetes.recording.target import each_target

        setattr(namespace, self.dest, each_target(values))


def add_local_engine_flags(parser: argparse._ActionsContainer) -> None:
    """Add the flags for an engine on this machine: its log, its process, a probe request."""
    parser.add_argument(
        "--log",
        metavar="FILE",
        help="read the log of a local engine, even one that failed to start; - reads stdin",
    )
    parser.add_argument(
        "--pid",
        type=int,
        metavar="N",
        help="read CPU, memory and limits of the local engine with this process ID",
    )
    parser.add_argument(
        "--probe",
        action="store_true",
        help="if needed, send a request for one token to distinguish a hung engine from an idle one",
    )


def add_cluster_flags(parser: argparse.ArgumentParser, *, of_one: bool = False) -> None:
    """Add them. `of_one`: those that a target by name needs, and no others."""
    group = parser.add_argument_group("cluster (read-only)")
    add_kubeconfig_flags(group, "the target")
    if not of_one:
        group.add_argument(
            "-l",
            "--selector",
            metavar="LABELS",
            help="select vLLM pods by label, e.g. app=vllm",
        )
        group.add_argument(
            "-A",
            "--all-namespaces",
            action="store_true",
            help="select every vLLM pod in the cluster",
        )
        group.add_argument(
            "--exec-gpu-tools",
            action="store_true",
            help="run nvidia-smi or amd-smi inside the pods (default: read the DCGM exporter only)",
        )


def add_kubeconfig_flags(group: argparse._ActionsContainer, what: str) -> None:
    """Add the namespace of `what`, the context and the kubeconfig."""
    group.add_argument(
        "-n",
        "--namespace",
        metavar="NS",
        help=f"namespace of {what} (default: the namespace of the context)",
    )
    group.add_argument(
        "--context", metavar="NAME", help="kubeconfig context (default: the current one)"
    )
    group.add_argument(
        "--kubeconfig",
        metavar="FILE",
        help="kubeconfig file (default: $KUBECONFIG, then ~/.kube/config, then the pod's service account)",
    )


def wanted(arguments: argparse.Namespace, targets: list[str]) -> Wanted | None:
    """What was asked for in a cluster; None if the targets are addresses or nothing asks for a
    cluster.

    Errors: InputError where both are asked for at once, or a flag has nothing to belong to.
    """
    from barostat.core.errors import InputError
    from barostat.io.kubernetes.recording.target import Wanted, is_workload

    workloads = [target for target in targets if is_workload(target)]
    names = ("namespace", "selector", "all_namespaces", "context", "kubeconfig", "exec_gpu_tools")
    given = {
        name: getattr(arguments, name, None) for name in names
    }  # not every verb has every flag
    asked = bool(
        workloads
        or given["selector"]
        or given["all_namespaces"]
        or (given["namespace"] and not targets)
    )
    if not asked:
        lone = [name for name in names if given[name]]
        if lone:
            raise InputError(
                "belongs to a target in a cluster: deploy/NAME, sts/NAME, lws/NAME, "
                "pod/NAME, -l or -A",
                f"--{lone[0].replace('_', '-')}",
            )
        return None
    others = [target for target in targets if target not in workloads]
    if others:
        raise InputError(
            "a URL and a target in a cluster are looked at one after the other, not at once",
            others[0],
        )
    if given["all_namespaces"] and (workloads or given["namespace"]):
        raise InputError("means every vLLM pod: it goes with no name and no -n", "-A")
    if given["selector"] and workloads:
        raise InputError("give a name or a selector, not both", "-l")
    everywhere = bool(given["all_namespaces"])
    return Wanted(
        tuple(workloads),
        given["selector"] or "",
        everywhere,
        given["namespace"],
        given["context"],
        given["kubeconfig"],
    )
