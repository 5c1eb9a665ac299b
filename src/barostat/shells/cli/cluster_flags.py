"""The flags that name a cluster and pods in it, as kubectl spells them; and what they mean."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from barostat.catalog.looks import FLEET_FOR_S, FOR_S

if TYPE_CHECKING:
    from barostat.io.kubernetes.recording.target import Wanted

FOR_HELP = f"how long to look (default {FOR_S:g}s, {FLEET_FOR_S:g}s with -A)"


def add_targets(
    parser: argparse.ArgumentParser,
    what: str = "http://host:8000; deploy/, sts/, lws/ or pod/NAME in a cluster",
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


def add_local_engine_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags for an engine on this machine: its log, its process, a probe request."""
    parser.add_argument(
        "--log",
        metavar="FILE",
        help="log of a local engine, also of one that never came up; - or a pipe: what comes in",
    )
    parser.add_argument(
        "--pid",
        type=int,
        metavar="N",
        help="process of a local engine: reads CPU per process, memory and limits",
    )
    parser.add_argument(
        "--probe",
        action="store_true",
        help="may send one request of one token, to tell a hung engine from an idle one",
    )


def add_cluster_flags(parser: argparse.ArgumentParser, *, of_one: bool = False) -> None:
    """Add them. `of_one`: those that a target by name needs, and no others."""
    group = parser.add_argument_group("a cluster (read only; as kubectl has them)")
    group.add_argument(
        "-n",
        "--namespace",
        metavar="NS",
        help="namespace of the target (default: that of the context)",
    )
    if not of_one:
        group.add_argument(
            "-l",
            "--selector",
            metavar="LABELS",
            help="the vLLM pods with these labels, such as app=vllm",
        )
        group.add_argument(
            "-A", "--all-namespaces", action="store_true", help="every vLLM pod of the cluster"
        )
    group.add_argument("--context", metavar="NAME", help="context of the kubeconfig")
    group.add_argument(
        "--kubeconfig",
        metavar="FILE",
        help="kubeconfig (default: $KUBECONFIG, ~/.kube/config, the pod's own account)",
    )
    if not of_one:
        group.add_argument(
            "--exec-gpu-tools",
            action="store_true",
            help="may run nvidia-smi or amd-smi in the pods (default: a DCGM exporter's word only)",
        )


def wanted(arguments: argparse.Namespace, targets: list[str]) -> Wanted | None:
    """What was asked for in a cluster; None where the targets are addresses or nothing asks for a
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
