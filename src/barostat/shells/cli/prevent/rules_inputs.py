"""The arguments of `barostat rules` -> the terms that the rules are made from: limits file, running
workload, and, stronger, flags.
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from barostat.alerts.terms import Promised, Terms, terms_of
from barostat.core.errors import InputError
from barostat.core.version import parse_version

_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*\Z")


def terms_asked(arguments: argparse.Namespace) -> Terms:
    """The terms. Errors: InputError for what makes no sense; OutsideError where the target does not
    answer.
    """
    terms = Terms()
    if arguments.limits is not None:
        from barostat.io.input_files.limits_file import load

        terms = replace(
            terms_of(load(arguments.limits)), version=None, limits_file=str(arguments.limits)
        )
    if arguments.target is not None:
        terms = _running(arguments, terms)
    elif arguments.namespace or arguments.context or arguments.kubeconfig:
        raise InputError(
            "-n, --context and --kubeconfig go with a target; --label namespace=NS selects series",
            "rules",
        )
    terms = replace(
        terms,
        labels={**terms.labels, **_labels(arguments.label)},
        promised=_promised(arguments, terms),
    )
    if arguments.name:
        terms = replace(terms, workload=arguments.name)
    if arguments.docs_url:
        terms = replace(terms, runbooks=_address(arguments.docs_url))
    if arguments.engine_version:
        version = parse_version(arguments.engine_version)
        if version is None:
            raise InputError(
                "is no version; three numbers such as 0.32.0 were expected",
                f"--engine-version {arguments.engine_version}",
            )
        if version.before("0.6.0"):
            raise InputError(
                "is older than what these rules speak of: 0.6 to 0.33",
                f"--engine-version {arguments.engine_version}",
            )
        terms = replace(terms, version=version)
    return terms


def _promised(arguments: argparse.Namespace, terms: Terms) -> Promised:
    given = {"ttft_s": arguments.ttft_p99, "itl_s": arguments.itl_p99}
    for name, value in given.items():
        if value is not None and not (math.isfinite(value) and value > 0):
            raise InputError("must be above 0", f"--{name.removesuffix('_s')}-p99 {value:g}")
    return replace(
        terms.promised, **{name: value for name, value in given.items() if value is not None}
    )


def _labels(given: list[str]) -> dict[str, str]:
    found = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not _LABEL.match(name) or name.startswith("__"):
            raise InputError(
                "a label is NAME=VALUE, such as namespace=inference or pod=~vllm-.*",
                f"--label {text}",
            )
        if value.startswith("~"):
            try:
                re.compile(value[1:])
            except re.error as error:
                raise InputError(f"is no regular expression: {error}", f"--label {text}") from None
        found[name] = value
    return found


def _address(text: str) -> str:
    if not re.match(r"https?://[^\s/]+", text):
        raise InputError(
            "an address was expected, such as https://docs.example.org/alerts", f"--docs-url {text}"
        )
    return text.rstrip("/#")


def _running(arguments: argparse.Namespace, terms: Terms) -> Terms:
    """What one look at the target adds: the name that the model is served under, and where it
    is.
    """
    from barostat.engines.vllm.metrics.settings import model_names
    from barostat.shells.cli.check.live import recording_of

    if arguments.target.endswith((".yaml", ".yml")):
        raise InputError("no engine; a limits file is given as --limits FILE", arguments.target)
    recording = recording_of(arguments, arguments.target)
    served = sorted(
        {
            name
            for replica in recording.replicas
            for scrape in replica.scrapes[-1:]
            for name in model_names(scrape.exposition)
        }
    )
    if not served:
        raise InputError(
            "shows no metrics of vLLM: rules made for it would watch nothing", arguments.target
        )
    labels = {
        "model_name": served[0]
        if len(served) == 1
        else "~" + "|".join(re.escape(name) for name in served)
    }
    target, named = "", served[0]
    if "://" not in arguments.target and (
        place := labels_of(arguments.target, recording.kubernetes)
    ):
        labels |= place
        target = f"{arguments.target} -n {place['namespace']}"
        named = arguments.target.partition("/")[2]
    return replace(terms, labels=labels, target=target, workload=terms.workload or named)


def labels_of(target: str, kubernetes: Mapping[str, Any]) -> dict[str, str]:
    """Namespace and pods of a workload, as labels of Prometheus; empty if the target names none,
    or pods of several namespaces.

    `kubernetes`: the recording's documents by kind.
    """
    from barostat.platform.objects import items, mapping
    from barostat.platform.workloads import kind_typed

    word, slash, name = target.partition("/")
    kind = kind_typed(word)
    namespaces = sorted(
        {
            str(mapping(pod.get("metadata")).get("namespace"))
            for pod in items(kubernetes.get("pods"))
        }
    )
    if not slash or kind is None or len(namespaces) != 1:
        return {}
    ending = kind.pod_suffix
    return {"namespace": namespaces[0], "pod": f"~{re.escape(name)}{ending}" if ending else name}
