"""All documents that were read at once -> one scene: engines, what watches and opens them, and the
limits that each is under.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from barostat.catalog.models import find_model
from barostat.core.version import parse_version
from barostat.judge.manifest_check.certificate_document import load_test_of
from barostat.judge.manifest_check.chart_values import (
    engine_of_model,
    engine_of_runtime,
    engines_of_values,
)
from barostat.judge.manifest_check.compose import engines_of_compose, is_compose
from barostat.judge.manifest_check.config_maps import ConfigMaps, config_maps_of
from barostat.judge.manifest_check.containers import engines_in
from barostat.judge.manifest_check.limits_document import limits_of
from barostat.judge.manifest_check.pod_specs import objects_of, pod_specs
from barostat.judge.manifest_check.scrapes import scrape_of
from barostat.judge.manifest_check.scripts import engines_of_script, engines_of_unit
from barostat.judge.manifest_check.serve_config import engine_of_job, engines_of_serve_config
from barostat.judge.manifest_check.watchers import queries_of, scaler_of, service_of
from barostat.judge.manifest_check.words import starts_server
from barostat.lint.document import Document, Node, Place
from barostat.lint.facts import (
    Engine,
    Given,
    Limits,
    LoadTest,
    Query,
    Scaler,
    Scene,
    Scrape,
    Service,
)

Complaints = Callable[[Document], tuple[tuple[Place, str], ...]]
_SCALING = ("HorizontalPodAutoscaler", "ScaledObject")


@dataclass(slots=True)
class _Gathered:
    engines: list[Engine] = field(default_factory=list)
    services: list[Service] = field(default_factory=list)
    scalers: list[Scaler] = field(default_factory=list)
    queries: list[Query] = field(default_factory=list)
    limits: list[Limits] = field(default_factory=list)
    load_tests: list[LoadTest] = field(default_factory=list)
    scrapes: list[Scrape] = field(default_factory=list)
    repeated: list[Given] = field(default_factory=list)


def scene_of(
    documents: Sequence[Document],
    *,
    gpu: str | None = None,
    engine_version: str | None = None,
    complaints: Complaints = lambda _: (),
    today: str = "",
) -> Scene:
    """The scene. `gpu`, `engine_version`: what the user says of the pool, where the manifests do
    not. `complaints`: a limits file's own.
    """
    config_maps = config_maps_of(documents)
    found = _Gathered()
    for document in documents:
        if document.roots and document.roots[0].style == "text":
            name = document.file.rsplit("/", 1)[-1]
            unit = name.endswith((".service", ".container")) or "[Service]" in document.text
            found.engines += (
                engines_of_unit(document, document.roots[0], name)
                if unit
                else engines_of_script(document, document.roots[0], name)
            )
            continue
        for root in document.roots:
            for one in objects_of(root):
                _read(found, document, one, config_maps, complaints)
    given = parse_version(engine_version)
    if given is not None:
        found.engines = [
            replace(engine, version=given) if engine.version is None else engine
            for engine in found.engines
        ]
    found.engines = [_planned(engine, gpu) for engine in found.engines]
    assigned, contested = _assigned(found.engines, found.limits)
    return Scene(
        tuple(documents), tuple(found.engines), tuple(found.services), tuple(found.scalers), tuple(found.queries), tuple(found.limits),
        tuple(found.repeated), assigned, tuple(found.load_tests), today, tuple(found.scrapes), contested,
    )  # fmt: skip


def _read(
    found: _Gathered,
    document: Document,
    root: Node,
    config_maps: ConfigMaps,
    complaints: Complaints,
) -> None:
    if root.kind != "map":
        return
    kind = root.word("kind")
    before = len(found.engines)
    for pod_spec in pod_specs(document, root):
        found.engines += engines_in(pod_spec, config_maps)
    for values in _values_within(root):
        found.engines += engines_of_values(document, values)
    if not kind:
        if is_compose(root):
            found.engines += engines_of_compose(document, root)
        else:
            found.engines += engines_of_values(document, root)
    elif kind in ("Model", "VLLMRuntime"):
        engine = (
            engine_of_model(document, root)
            if kind == "Model"
            else engine_of_runtime(document, root)
        )
        found.engines += [engine] if engine is not None else []
    elif kind.startswith("Ray"):
        found.engines += engines_of_serve_config(document, root)
        job = engine_of_job(document, root)
        found.engines += [job] if job is not None else []
    elif kind == "ConfigMap":
        for key, text in (root.get("data") or root).entries.items():
            if (
                text.kind == "scalar"
                and not key.endswith((".py", ".md", ".json", ".yaml", ".yml"))
                and starts_server(text.text)
            ):
                found.engines += engines_of_script(
                    document, text, f"ConfigMap {root.word('metadata', 'name')}, {key}"
                )
    if (scaler := scaler_of(document, root)) is not None:
        found.scalers.append(scaler)
    if (service := service_of(document, root)) is not None:
        found.services.append(service)
    if (scrape := scrape_of(document, root)) is not None:
        found.scrapes.append(scrape)
    queries = list(queries_of(document, root))
    found.queries += queries
    if (load_test := load_test_of(document, root)) is not None:
        found.load_tests.append(load_test)
    limits = limits_of(document, root, complaints(document) if kind == "ServingLimits" else ())
    if limits is not None:
        found.limits.append(limits)
    if len(found.engines) > before or queries or limits is not None or kind in _SCALING:
        found.repeated += [
            Given(key.text, document.place(key)) for node in root.walk() for key in node.repeated
        ]


def _values_within(root: Node) -> Iterator[Node]:
    """The values of charts that a GitOps object has in itself: of Flux, Argo CD, k3s, Kustomize.
    What is text there was read before.
    """
    kind, spec = root.word("kind"), root.get("spec")
    found: list[Node | None] = []
    if kind == "HelmRelease":
        found = [root.get("spec", "values")]
    elif kind == "HelmChart":
        found = [root.get("spec", "valuesContent")]
    elif root.get("helmCharts") is not None:
        found = [chart.get("valuesInline") for chart in root.maps_at("helmCharts")]
    elif kind == "ConfigMap":
        found = list((root.get("data") or root).entries.values())
    elif kind in ("Application", "ApplicationSet") and spec is not None:
        inner = spec if kind == "Application" else spec.get("template", "spec") or spec
        sources = [inner.get("source"), *inner.maps_at("sources")]
        found = [
            source.get("helm", key)
            for source in sources
            if source is not None
            for key in ("valuesObject", "values")
        ]
    yield from (node for node in found if node is not None and node.kind == "map")


def _planned(engine: Engine, gpu: str | None) -> Engine:
    """The engine with its plan, where there is something to plan with; the planner is loaded only
    then.
    """
    asked = (
        gpu or engine.card_hint or engine.is_cpu or engine.ranks > 1 or engine.has("max_model_len")
    )
    if engine.model is None or not asked or find_model(engine.model.text) is None:
        return engine
    from barostat.judge.manifest_check.planned import planned_of

    return replace(engine, planned=planned_of(engine, gpu))


def _assigned(
    engines: Iterable[Engine], limits: Sequence[Limits]
) -> tuple[dict[Place, Limits], dict[Place, tuple[Limits, ...]]]:
    """Each engine's limits: those that name its workload; else its model; else the only ones beside
    it in its folder.

    And where several name the same: all of them, none is taken.
    """
    found: dict[Place, Limits] = {}
    contested: dict[Place, tuple[Limits, ...]] = {}
    for engine in engines:
        name = engine.pod.name if engine.pod is not None else ""
        model = engine.model.text if engine.model is not None else ""
        folder = engine.place.file.rpartition("/")[0]
        by_name = [one for one in limits if one.target and one.target == name]
        by_model = [
            one
            for one in limits
            if not one.target
            and one.model
            and model
            and one.model.rsplit("/", 1)[-1] == model.rsplit("/", 1)[-1]
        ]
        alone = [
            one
            for one in limits
            if not one.target and not one.model and one.place.file.rpartition("/")[0] == folder
        ]
        for candidates in (by_name, by_model, alone):
            near = [
                one for one in candidates if one.place.file.rpartition("/")[0] == folder
            ] or candidates
            if len(near) == 1:
                found[engine.place] = near[0]
            elif near:
                contested[engine.place] = tuple(near)
            if near:
                break
    return found, contested
