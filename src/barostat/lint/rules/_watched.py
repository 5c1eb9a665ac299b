"""Who watches, scales and opens which engine."""

from __future__ import annotations

from collections.abc import Iterator

from barostat.core.version import EngineVersion
from barostat.lint.document import Place
from barostat.lint.facts import Engine, Query, Scaler, Scene, Service


def all_queries(scene: Scene) -> Iterator[Query]:
    """The expressions of rules and of autoscalers."""
    yield from scene.queries
    for scaler in scene.scalers:
        yield from scaler.queries


def engines_of(scene: Scene, scaler: Scaler) -> list[Engine]:
    """The engines that the scaler's target starts: of that name, beside it."""
    folder = scaler.place.file.rpartition("/")[0]
    named = [
        engine
        for engine in scene.engines
        if engine.pod is not None and (engine.pod.kind, engine.pod.name) == scaler.target
    ]
    return [engine for engine in named if engine.place.file.rpartition("/")[0] == folder] or named


def watches_engines(scene: Scene, scaler: Scaler) -> bool:
    """True if the scaler is about vLLM: by what it scales, or by the metrics that it reads."""
    read = [query.expression for query in scaler.queries] + [name for name, _, _ in scaler.metrics]
    return bool(engines_of(scene, scaler)) or any(
        "vllm" in text.lower() for text in [*read, scaler.target[1]]
    )


def leads_to(service: Service, engine: Engine) -> bool:
    """True if the Service beside the engine selects its pod."""
    pod = engine.pod
    if pod is None or not service.selector or pod.namespace != service.namespace:
        return False
    near = engine.place.file.rpartition("/")[0] == service.place.file.rpartition("/")[0]
    return near and all(pod.labels.get(key) == value for key, value in service.selector.items())


def version_beside(scene: Scene, place: Place) -> EngineVersion | None:
    """The version of the engines in the same folder, None if they differ or none is told."""
    folder = place.file.rpartition("/")[0]
    found = {
        engine.version.release: engine.version
        for engine in scene.engines
        if engine.version and engine.place.file.rpartition("/")[0] == folder
    }
    return next(iter(found.values())) if len(found) == 1 else None
