"""Generates a ValidatingAdmissionPolicy (CEL) and its binding from ServingLimits: workloads that
start vLLM beyond the limits are refused.

An engine is a container, or a sidecar, whose command, arguments or image name vLLM's server. Each
number of the limits becomes one validation: the argument must be present, a plain number, and
within the limit. Only workloads and pods without an owner are checked, so a pod that an existing
Deployment recreates at night is not refused.
Source: admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy (Kubernetes 1.30 and later); CEL's
lists and regex libraries.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

from barostat.catalog.settings.table import OF_LIMITS
from barostat.core.errors import InputError
from barostat.core.limits import ServingLimits
from barostat.core.naming import camel

_NOT_AT_MOST = "watermark"
"""An engine may exceed this limit: it is a share of blocks kept free."""
_WORDS = "((has(c.command) ? c.command : []) + (has(c.args) ? c.args : []))"
_ENGINES = (
    "variables.containers.filter(c, "
    f"{_WORDS}.join(' ').matches('vllm +serve|vllm[.]entrypoints') || "
    "(has(c.image) && c.image.matches('(^|/)vllm[^/]*(:|@|$)') && "
    "!c.image.contains('router') && (has(c.args) && !has(c.command))))"
)
_PODS = (
    "object.kind == 'Pod' ? [object.spec] : object.kind == 'CronJob' ? "
    "[object.spec.jobTemplate.spec.template.spec] : "
    "object.kind != 'LeaderWorkerSet' ? [object.spec.template.spec] : "
    "[object.spec.leaderWorkerTemplate.workerTemplate.spec] + "
    "(has(object.spec.leaderWorkerTemplate.leaderTemplate) ? "
    "[object.spec.leaderWorkerTemplate.leaderTemplate.spec] : [])"
)
_SIDECARS = (
    "(has({0}.initContainers) ? {0}.initContainers.filter(c, has(c.restartPolicy) && "
    "c.restartPolicy == 'Always') : [])"
)
_OF_FIRST, _OF_SECOND = (
    f"variables.pods[{at}].containers + {_SIDECARS.format(f'variables.pods[{at}]')}"
    for at in (0, 1)
)
_CONTAINERS = f"{_OF_FIRST} + (variables.pods.size() > 1 ? {_OF_SECOND} : [])"
_WRITTEN, _MADE = ("CREATE", "UPDATE"), ("CREATE",)
_ASKED: tuple[tuple[str, str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("apps", "v1", _WRITTEN, ("deployments", "statefulsets", "daemonsets", "replicasets")),
    ("batch", "v1", _WRITTEN, ("cronjobs",)),
    ("batch", "v1", _MADE, ("jobs",)),  # the template of a Job is immutable
    ("", "v1", _MADE, ("pods",)),
    ("leaderworkerset.x-k8s.io", "v1", _WRITTEN, ("leaderworkersets",)),
)
_KINDS = (
    "Deployment",
    "StatefulSet",
    "DaemonSet",
    "ReplicaSet",
    "Job",
    "CronJob",
    "Pod",
    "LeaderWorkerSet",
)
_OF_ITS_OWN = (
    "!(object.kind in ['Pod', 'ReplicaSet', 'Job']) || !has(object.metadata.ownerReferences)"
)


def policy_text(limits: ServingLimits, source: str) -> str:
    """Return both objects as YAML. Errors: InputError if the limits contain no engine setting."""
    validations = [
        _validation(setting.option.removeprefix("--"), camel(field), value)
        for field, setting in OF_LIMITS.items()
        if setting.kind != "text"
        and field != _NOT_AT_MOST
        and (value := getattr(limits.spec.engine, field)) is not None
    ]
    if not validations:
        raise InputError(
            "sets no number for the engine (spec.engine), so there is nothing for the API server "
            "to enforce",
            source,
        )
    target = limits.spec.target_ref
    if target is not None and target.kind and target.kind not in _KINDS:
        raise InputError(
            f"targetRef names a {target.kind}, which the policy cannot check: name the workload "
            f"that its controller creates, one of "
            f"{', '.join(_KINDS)}",
            source,
        )
    plain = limits.name or (target.name if target is not None else None) or "vllm"
    name = "barostat-" + (re.sub(r"[^a-z0-9.-]+", "-", plain.lower()).strip("-.") or "vllm")
    spec: dict[str, Any] = {
        "failurePolicy": "Fail",
        "matchConstraints": {
            "resourceRules": [
                {
                    "apiGroups": [group],
                    "apiVersions": [version],
                    "operations": list(operations),
                    "resources": list(resources),
                }
                for group, version, operations, resources in _ASKED
            ]
        },
        "matchConditions": [{"name": "of-its-own", "expression": _OF_ITS_OWN}],
        "variables": [
            {"name": "pods", "expression": _PODS},
            {"name": "containers", "expression": _CONTAINERS},
            {"name": "engines", "expression": _ENGINES},
        ],
        "validations": validations,
    }
    if target is not None and target.name:
        spec["matchConditions"].append(
            {
                "name": "the-workload",
                "expression": f"object.metadata.name == '{_quoted(target.name)}'",
            }
        )
    api = "admissionregistration.k8s.io/v1"
    policy = {
        "apiVersion": api,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": spec,
    }
    binding = {
        "apiVersion": api,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": ["Deny"]},
    }
    every = "every vLLM workload of the cluster (set targetRef in the limits for a single one)"
    about = (
        "workloads with the name in targetRef, in every namespace"
        if len(spec["matchConditions"]) > 1
        else every
    )
    texts = [yaml.safe_dump(each, sort_keys=False, width=1000) for each in (policy, binding)]
    return (
        f"# Generated by `barostat check {_last(source)} --admission-policy`. Review and change the limits file, not this file.\n"
        f"# It applies to {about}; narrow it with matchResources in the binding.\n"
        + "---\n".join(texts)
    )


def _last(source: str) -> str:
    """Return the last part of a path."""
    return source.rsplit("/", 1)[-1]


def _validation(flag: str, field: str, value: float) -> dict[str, str]:
    """Return the validation of one number: the argument is present, and each occurrence is a plain
    number of at most the limit.
    """
    spelled = flag.replace("-", "[-_]")
    given = f"(' ' + {_WORDS}.join(' ')).findAll(r'\\s--{spelled}[=\\s]+[^\\s\"]+')"
    shown = f"{value:g}" if isinstance(value, float) and value != int(value) else str(int(value))
    plain = (
        "m.matches(r'[=\\s][0-9]+([.][0-9]+)?$') && double(m.find(r'[0-9.]+$')) <= "
        f"{float(value)!r}"
    )
    return {
        "expression": f"variables.engines.all(c, {given}.size() > 0 && {given}.all(m, {plain}))",
        "message": (
            f"vLLM must be started with --{flag} of at most {shown} (ServingLimits, "
            f"engine.{field}), written as a plain number"
        ),
        "reason": "Invalid",
    }


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")
