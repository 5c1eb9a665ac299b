"""An engine whose metrics are not scraped.

Meaning: beside the engine stands a Service, or rules on its metrics, and neither an annotation that
asks for a scrape nor a monitor that takes it; or a monitor is there, and its labels, or the name of
its port, are those of nothing.
Impact: waiting, preemptions and latency are kept nowhere: alerts on them never fire, and after an
incident there is nothing to look at.

Bad:

    {kind: Service, apiVersion: v1, metadata: {name: llm, labels: {app: llm}},
      spec: {selector: {app: a}, ports: [{name: http, port: 8000}]}}
    ---
    {kind: ServiceMonitor, apiVersion: monitoring.coreos.com/v1, metadata: {name: llm}, spec:
    {selector: {matchLabels: {app: vllm}},
      endpoints: [{port: http}]}}
    ---
    {kind: Pod, apiVersion: v1, metadata: {name: a, labels: {app: a}}, spec: {containers: [{name: a,
    image: "vllm/vllm-openai:v0.32.0",
      args: ["--model", "Qwen/Qwen3-8B"], resources: {limits: {nvidia.com/gpu: 1}}}]}}

Good:

    {kind: Service, apiVersion: v1, metadata: {name: llm, labels: {app: llm}},
      spec: {selector: {app: a}, ports: [{name: http, port: 8000}]}}
    ---
    {kind: ServiceMonitor, apiVersion: monitoring.coreos.com/v1, metadata: {name: llm}, spec:
    {selector: {matchLabels: {app: llm}},
      endpoints: [{port: http}]}}
    ---
    {kind: Pod, apiVersion: v1, metadata: {name: a, labels: {app: a}}, spec: {containers: [{name: a,
    image: "vllm/vllm-openai:v0.32.0",
      args: ["--model", "Qwen/Qwen3-8B"], resources: {limits: {nvidia.com/gpu: 1}}}]}}

Fix: a ServiceMonitor whose labels are the Service's own (not its selector) and whose port is one of
its names; or a PodMonitor.
Source: monitoring.coreos.com/v1 ServiceMonitor (selector is of Services, port is a name); vLLM
serves /metrics on its port.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from barostat.lint.document import Place
from barostat.lint.facts import Pod, Scene, Scrape, Service
from barostat.lint.rule import Found, Rule


def judge(scene: Scene) -> Iterator[Found]:
    """Monitors that miss the engines beside them, and engines that nothing scrapes though they are
    opened or watched.
    """
    engines = [
        (engine, engine.pod)
        for engine in scene.engines
        if engine.pod is not None and engine.pod.raw
    ]
    said = set()
    for scrape in scene.scrapes:
        folder = _folder(scrape.place)
        missed = [
            pod
            for _, pod in engines
            if _folder(pod.place) == folder and _is_opened(pod, scene) and not _scraped(pod, scene)
        ]
        alone = len([one for one in scene.scrapes if _folder(one.place) == folder]) == 1
        if missed and alone and (found := _misses(scrape, scene, missed[0])) is not None:
            said.add(folder)
            yield found
    for engine, pod in engines:
        stats = engine.is_on("disable_log_stats") is not True
        if (
            stats
            and _folder(pod.place) not in said
            and (_is_opened(pod, scene) or _is_watched(pod, scene))
            and not _scraped(pod, scene)
        ):
            yield Found(
                pod.place,
                f"nothing here scrapes the metrics of {engine.name}",
                "a ServiceMonitor or a PodMonitor beside it",
            )


def _misses(scrape: Scrape, scene: Scene, missed: Pod) -> Found | None:
    """A monitor of Services that takes none, or one that asks what it takes for a port that is not
    there.
    """
    if not scrape.plain or not scrape.selector:
        return None
    if scrape.of == "services":
        taken: list[Service] | list[Pod] = [
            one for one in scene.services if _within(scrape.selector, one.labels)
        ]
    else:
        taken = [missed] if _within(scrape.selector, missed.labels) else []
    if not taken and scrape.of == "services":
        words = ", ".join(f"{key}={value}" for key, value in scrape.selector.items())
        told = (
            f"{scrape.kind} {scrape.name} takes Services with {words}, and no Service here has "
            f"that: nothing scrapes {missed.name}"
        )
        return Found(
            scrape.place,
            told,
            "the labels of the Service itself",
            severity="warning",
            persona="ordinary",
        )
    names = {name for one in taken for name in one.ports}
    for port in scrape.ports if taken else ():
        if port.text not in names:
            told = (
                f"{scrape.kind} {scrape.name} asks for the port {port.text}, and "
                f"{taken[0].name} has none of that name"
            )
            return Found(
                port.place,
                told,
                "the name of the port, as what is scraped has it",
                severity="warning",
                persona="ordinary",
            )
    return None


def _scraped(pod: Pod, scene: Scene) -> bool:
    """True if something takes that pod's metrics, or if that cannot be ruled out."""
    services = [
        one
        for one in scene.services
        if _leads(one.selector, pod) and _may_share(one.namespace, pod.namespace)
    ]
    if pod.scraped or any(one.scraped for one in services):
        return True
    for scrape in scene.scrapes:
        if not scrape.plain or not scrape.selector:
            return True
        taken = [pod] if scrape.of == "pods" else services
        for one in taken:
            if _within(scrape.selector, one.labels) and all(
                port.text in one.ports for port in scrape.ports
            ):
                return True
    return False


def _is_opened(pod: Pod, scene: Scene) -> bool:
    """True if a Service beside the workload leads to it: the files are more than the workload
    alone.
    """
    return any(
        _leads(one.selector, pod) and _folder(one.place) == _folder(pod.place)
        for one in scene.services
    )


def _is_watched(pod: Pod, scene: Scene) -> bool:
    """True if rules on vLLM's metrics are declared with the workload."""
    return any(
        "vllm:" in one.expression and _folder(one.place) == _folder(pod.place)
        for one in scene.queries
    )


def _leads(selector: Mapping[str, str], pod: Pod) -> bool:
    return bool(selector) and _within(selector, pod.labels)


def _may_share(one: str, other: str) -> bool:
    """True unless both files name a namespace, and not the same: where none stands, it is given
    when they are applied.
    """
    return not one or not other or one == other


def _within(selector: Mapping[str, str], labels: Mapping[str, str]) -> bool:
    return all(labels.get(key) == value for key, value in selector.items())


def _folder(place: Place) -> str:
    return place.file.rpartition("/")[0]


RULE = Rule("not-scraped", "nobody scrapes the engine's metrics", judge, "note", "medium", "pedant")
