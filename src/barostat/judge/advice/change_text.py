"""The only place that puts a proposed change and its forecast into words."""

from __future__ import annotations

from barostat.catalog.settings.setting import option_of
from barostat.core.config import written
from barostat.core.diagnosis import NextStep, StepForecast, Trials
from barostat.core.object_reference import ObjectReference
from barostat.core.proposed_change import (
    Advise,
    EditPodSpec,
    PodEdit,
    ProposedChange,
    Restart,
    RollBack,
    Scale,
    SetCpu,
    SetEdgeLimit,
    SetEnvironment,
    SetFlag,
    SetMemory,
    SetServiceLinks,
    SetSharedMemory,
    SetStartupProbe,
    UnsetFlag,
)
from barostat.core.prose import NO_PROSE, Prose
from barostat.core.units import figure, seconds
from barostat.judge.experiments.side_by_side import NO_DIFFERENCE

_SET_NAMES = {
    "request.maxInputTokens": "edge-input-cap",
    "request.maxOutputTokens": "edge-output-cap",
    "edge.kvTokenBudget": "edge-kv-budget",
}
_FEW_REFUSED = 0.0005
_LITTLE_LOST = 0.01


def as_written(change: ProposedChange) -> Prose:
    """The change as a command line, a manifest or a limits file has it: `--max-num-seqs 48`,
    `edge: {kvTokenBudget: 9216}`.
    """
    return Prose(_written(change))


def as_set_option(change: ProposedChange) -> Prose:
    """The change as `barostat what-if --set` takes it; empty for one that it does not take."""
    match change:
        case SetFlag(name, value):
            return Prose(f"{_dashed(name)}={written(value)}")
        case UnsetFlag(name):
            return Prose(f"{_dashed(name)}=off")
        case SetEdgeLimit(limit, tokens):
            return Prose(f"{_SET_NAMES[limit]}={tokens}")
        case Scale():
            return Prose(f"replicas={change.replicas or f'+{change.more}'}")
        case _:
            return Prose("")


def summary_of(forecast: StepForecast) -> Prose:
    """Return the forecast compared with today, in one clause."""
    if forecast.stuck:
        return Prose(f"the engine would be stuck: {forecast.stuck}")
    if forecast.may_change:
        return forecast.may_change
    parts = [
        f"{word}: {figures}"
        for word, figures in (("better", forecast.better), ("worse", forecast.worse))
        if figures
    ]
    return Prose("; ".join(parts) or NO_DIFFERENCE)


def beside_today(step: NextStep, trials: Trials) -> Prose:
    """The step's forecast beside today's figures, and its price, in one clause."""
    today = trials.today
    if step.forecast is None or today is None:
        return NO_PROSE
    then = step.forecast.expected
    figures = [
        f"TTFT p99 {_latency(today.ttft_p99_s)} -> {_latency(then.ttft_p99_s)}",
        f"ITL p99 {_latency(today.itl_p99_s)} -> {_latency(then.itl_p99_s)}",
        f"{figure(today.output_tokens_per_s)} -> {figure(then.output_tokens_per_s)} tokens/s",
        f"{figure(today.preempted_per_s, 2)} -> {figure(then.preempted_per_s, 2)} preemptions/s",
    ]
    return Prose(f"the twin forecasts {', '.join(figures)}; price: {price_of(step, trials)}")


def price_of(step: NextStep, trials: Trials, *, beside: bool = False) -> Prose:
    """Return the price of the step: a restart and how long it takes, more GPUs, fewer tokens per
    second, rejected requests. `beside`: the engine with the change starts while the former one
    serves.
    """
    forecast = step.forecast
    parts = []
    if step.restarts:
        start = f" ({seconds(trials.start_s)})" if trials.start_s is not None else ""
        parts.append(f"{'an engine start' if beside else 'a restart'}{start}")
    if forecast is not None and trials.today is not None and trials.today.output_tokens_per_s > 0:
        lost = 1 - forecast.expected.output_tokens_per_s / trials.today.output_tokens_per_s
        if lost >= _LITTLE_LOST:
            parts.append(f"{lost:.0%} of the tokens/s")
    if forecast is not None and forecast.capacity_ratio > 1:
        parts.append(f"{figure(forecast.capacity_ratio, 2)} times the GPUs")
    if forecast is not None and forecast.expected.refused_ratio >= _FEW_REFUSED:
        parts.append(f"{forecast.expected.refused_ratio:.1%} of the requests rejected")
    return Prose(", ".join(parts) or "none")


def _written(change: ProposedChange) -> str:
    match change:
        case SetFlag(name, bool(value)):
            return option_of(name) if value else f"--no-{_dashed(name)}"
        case SetFlag(name, value):
            return f"{option_of(name)} {written(value)}"
        case UnsetFlag(name, now, as_refused):
            shown = as_refused or option_of(name)
            return f"remove {shown}" + ("" if now is None else f" (now {written(now)})")
        case SetEnvironment(variables):
            entries = ", ".join(f"{{name: {name}, value: {_quoted(v)}}}" for name, v in variables)
            return f"env: [{entries}]"
        case SetEdgeLimit(limit, tokens):
            section, _, key = limit.partition(".")
            return f"{section}: {{{key}: {tokens}}}"
        case Scale():
            return _scale(change)
        case Restart(pod, engine):
            if pod is None:
                return f"restart the engine at {engine} (stop its process, start it)"
            return f"kubectl delete pod {pod.name}{_namespace(pod)} --grace-period=60"
        case RollBack(workload):
            return (
                f"kubectl rollout undo {_object(workload)} (under Helm or GitOps: revert the "
                "release or commit)"
            )
        case EditPodSpec(edit):
            return _edit(edit)
        case Advise(instruction):
            return str(instruction)


def _scale(change: Scale) -> str:
    if change.replicas is not None:
        field = "maxReplicas" if change.of == "autoscaler" else "replicas"
        return f"{field}: {change.replicas}"
    if change.engine:
        return f"one more engine like the one at {change.engine}"
    target = change.target or ObjectReference("deployment", "")
    return f"kubectl scale {_object(target)} --replicas=N (N: one more than now)"


def _edit(edit: PodEdit) -> str:
    match edit:
        case SetMemory(amount):
            return f"resources: {{limits: {{memory: {amount}}}, requests: {{memory: {amount}}}}}"
        case SetCpu(cores):
            return f'resources: {{limits: {{cpu: "{cores}"}}, requests: {{cpu: "{cores}"}}}}'
        case SetSharedMemory(amount):
            return (
                f"volumes: [{{name: shm, emptyDir: {{medium: Memory, sizeLimit: {amount}}}}}] and "
                "volumeMounts: [{name: shm, mountPath: /dev/shm}] (outside Kubernetes: "
                f"--shm-size={amount.removesuffix('i').lower()})"
            )
        case SetServiceLinks(enabled):
            return f"spec.template.spec.enableServiceLinks: {str(enabled).lower()}"
        case SetStartupProbe(path, port, period_s, timeout_s, failure_threshold):
            return (
                f"startupProbe: {{httpGet: {{path: {path}, port: {port}}}, periodSeconds: "
                f"{period_s}, timeoutSeconds: {timeout_s}, failureThreshold: {failure_threshold}}}"
            )


def _latency(value_s: float | None) -> str:
    return "-" if value_s is None else seconds(value_s)


def _object(found: ObjectReference) -> str:
    return f"{found.kind}/{found.name or '<name>'}{_namespace(found)}"


def _namespace(found: ObjectReference) -> str:
    return f" -n {found.namespace}" if found.namespace else ""


def _dashed(name: str) -> str:
    return name.lstrip("-").replace("_", "-")


def _quoted(value: str) -> str:
    """A number in quotes, as a variable of Kubernetes has to be a text."""
    return f"'{value}'" if value.isdigit() else value
