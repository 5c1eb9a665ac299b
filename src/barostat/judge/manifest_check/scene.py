"""All documents that were read at once -> one scene: engines, what watches and opens them, and the
limits that each is under.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from barostat.catalog.models import find_model
from barostat.core.version import parse_version
from barostat.judge.manifest_check.certificate_document import load_test_of
from barostat.judge.manifest_check.config_maps import ConfigMaps, config_maps_of
from barostat.judge.manifest_check.form import Source
from barostat.judge.manifest_check.forms import forms
from barostat.judge.manifest_check.limits_document import limits_of
from barostat.judge.manifest_check.pod_specs import objects_of
from barostat.judge.manifest_check.ray_upgrade import ray_upgrade_of
from barostat.judge.manifest_check.scrapes import scrape_of
from barostat.judge.manifest_check.watchers import claim_of, queries_of, scaler_of, service_of
from barostat.lint.document import Document, Node, Place
from barostat.lint.facts import (
    Engine,
    Given,
    Limits,
    LoadTest,
    Query,
    RayUpgrade,
    Scaler,
    Scene,
    Scrape,
    Service,
    VolumeClaim,
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
    claims: list[VolumeClaim] = field(default_factory=list)
    ray_upgrades: list[RayUpgrade] = field(default_factory=list)
    repeated: list[Given] = field(default_factory=list)


def scene_of(
    documents: Sequence[Document],
    *,
    gpu: str | None = None,
    engine_version: str | None = None,
    complaints: Complaints = lambda _: (),
    today: str = "",
) -> Scene:
    """Return the scene. `gpu`, `engine_version`: what the user says where the manifests do not.
    `complaints`: a limits file's own.
    """
    config_maps = config_maps_of(documents)
    gathered = _Gathered()
    for document in documents:
        taken: list[int] = []
        for root in document.objects():
            for each in objects_of(root):
                _read(gathered, document, each, config_maps, taken)
                _read_around(gathered, document, each, complaints, bool(taken))
    given = parse_version(engine_version)
    if given is not None:
        gathered.engines = [
            replace(engine, version=given) if engine.version is None else engine
            for engine in gathered.engines
        ]
    gathered.engines = [_planned(engine, gpu) for engine in gathered.engines]
    assigned, contested = _assigned(gathered.engines, gathered.limits)
    return Scene(
        documents=tuple(documents),
        engines=tuple(gathered.engines),
        services=tuple(gathered.services),
        scalers=tuple(gathered.scalers),
        queries=tuple(gathered.queries),
        limits=tuple(gathered.limits),
        repeated_keys=tuple(gathered.repeated),
        limits_of=assigned,
        load_tests=tuple(gathered.load_tests),
        today=today,
        scrapes=tuple(gathered.scrapes),
        contested=contested,
        claims=tuple(gathered.claims),
        ray_upgrades=tuple(gathered.ray_upgrades),
    )


def _read(
    gathered: _Gathered,
    document: Document,
    root: Node,
    config_maps: ConfigMaps,
    taken: list[int],
) -> None:
    """Read the engines of one object or text. `taken`: offsets of those read before, which grows."""
    for each in [root, *_values_within(root)]:
        is_whole = False
        for form in forms():
            if (form.general and is_whole) or not form.is_of(document, each):
                continue
            is_whole = is_whole or form.is_whole
            source = Source(document, each, config_maps, tuple(taken) if form.general else ())
            engines = list(form.engines(source))
            gathered.engines += engines
            taken += [engine.place.start for engine in engines]
            taken += [engine.image.place.start for engine in engines if engine.image is not None]
            taken += [
                argument.place.start for engine in engines for argument in engine.occurrences[:1]
            ]


def _read_around(
    gathered: _Gathered, document: Document, root: Node, complaints: Complaints, has_engine: bool
) -> None:
    """Read what watches, opens and limits engines."""
    if root.kind != "map":
        return
    kind = root.word("kind")
    if (scaler := scaler_of(document, root)) is not None:
        gathered.scalers.append(scaler)
    if (service := service_of(document, root)) is not None:
        gathered.services.append(service)
    if (claim := claim_of(document, root)) is not None:
        gathered.claims.append(claim)
    if (upgrade := ray_upgrade_of(document, root)) is not None:
        gathered.ray_upgrades.append(upgrade)
    if (scrape := scrape_of(document, root)) is not None:
        gathered.scrapes.append(scrape)
    queries = list(queries_of(document, root))
    gathered.queries += queries
    if (load_test := load_test_of(document, root)) is not None:
        gathered.load_tests.append(load_test)
    limits = limits_of(document, root, complaints(document) if kind == "ServingLimits" else ())
    if limits is not None:
        gathered.limits.append(limits)
    if has_engine or queries or limits is not None or kind in _SCALING:
        gathered.repeated += [
            Given(key.text, document.place(key)) for node in root.walk() for key in node.repeated
        ]


def _values_within(root: Node) -> Iterator[Node]:
    """Yield the values of charts that a GitOps object holds: of Flux, Argo CD, k3s, Kustomize. Values
    that stand there as a text were read into a tree before.
    """
    if root.kind != "map":
        return
    kind, spec = root.word("kind"), root.get("spec")
    values: list[Node | None] = []
    if kind == "HelmRelease":
        values = [root.get("spec", "values")]
    elif kind == "HelmChart":
        values = [root.get("spec", "valuesContent")]
    elif root.get("helmCharts") is not None:
        values = [chart.get("valuesInline") for chart in root.maps_at("helmCharts")]
    elif kind == "ConfigMap":
        values = list((root.get("data") or root).entries.values())
    elif kind in ("Application", "ApplicationSet") and spec is not None:
        inner = spec if kind == "Application" else spec.get("template", "spec") or spec
        sources = [inner.get("source"), *inner.maps_at("sources")]
        values = [
            source.get("helm", key)
            for source in sources
            if source is not None
            for key in ("valuesObject", "values")
        ]
    yield from (node for node in values if node is not None and node.kind == "map")


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
