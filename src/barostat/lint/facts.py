"""The facts in manifests, independent of their format: engines, monitoring, scaling and limits.
Rules judge these.

An unknown fact is None or empty; `Engine.complete` says whether a missing argument is really
absent.

Units: bytes, cores, seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from barostat.core.config import ConfigScalar
from barostat.core.version import EngineVersion
from barostat.lint.document import Document, Place

FileForm = Literal["manifest", "compose", "systemd", "script", "values", "image", "task"]


@dataclass(frozen=True, slots=True)
class Given:
    """A value as it is written. `whole`: its key and value together, where that is another stretch
    (what a fix takes out).
    """

    text: str
    place: Place
    whole: Place | None = None


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of the engine, by vLLM's name with underscores.

    `text`: as given, None if unknown. `value`: parsed, None if invalid. `words`: the place of each
    word. `spelled`: as quoted in messages. `origin`: where it is set. `default_of`: the variable
    whose default it is (`${PORT:-8000}`), which the environment may override; empty for none.
    """

    name: str
    text: str | None
    value: ConfigScalar | None
    spelled: str
    place: Place
    words: tuple[Place, ...] = ()
    origin: Literal["flag", "config-file", "values"] = "flag"
    joined: bool = False
    default_of: str = ""

    @property
    def number(self) -> float | None:
        """The value where it is a number."""
        return (
            float(self.value)
            if isinstance(self.value, int | float) and not isinstance(self.value, bool)
            else None
        )


@dataclass(frozen=True, slots=True)
class Probe:
    """One probe, with Kubernetes' defaults. `failures_place`, `timeout_place`: where these are set,
    None if they are not.

    `way`: httpGet, tcpSocket, grpc or exec; empty if unknown. `port`: a number, or a name that the
    container does not define. `keyed`: it can send an API key, or none is required.
    """

    place: Place
    path: str
    initial_delay_s: float = 0.0
    period_s: float = 10.0
    timeout_s: float = 1.0
    failures: int = 3
    failures_place: Place | None = None
    timeout_place: Place | None = None
    way: str = ""
    port: Given | None = None
    asked: Given | None = None
    scheme: str = "HTTP"
    keyed: bool = False

    @property
    def patience_s(self) -> float:
        """How long after its start a container that never answers is left alone."""
        return self.initial_delay_s + self.period_s * self.failures


@dataclass(frozen=True, slots=True)
class Mount:
    """A volume in the engine's container. `source`: claim, emptyDir, hostPath, configMap, ...;
    empty if nothing says what it is. `name`: the claim's, as the volume names it. `size_bytes`:
    an emptyDir's limit.
    """

    path: str
    place: Place
    source: str = ""
    name: str = ""
    size_bytes: float | None = None
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class VolumeClaim:
    """A PersistentVolumeClaim. `modes`: its access modes. Units: bytes."""

    name: str
    namespace: str
    place: Place
    modes: frozenset[str]
    size: Given | None = None
    size_bytes: float | None = None


@dataclass(frozen=True, slots=True)
class RayUpgrade:
    """The second RayCluster that a change of a RayService's `rayClusterConfig` starts. `cards`: of
    all its pods.
    """

    name: str
    place: Place
    cards: float


@dataclass(frozen=True, slots=True)
class Host:
    """The container around an engine. `shm_bytes` None: not bounded by the pod.

    `memory`, `cpu`, `gpus`: limits as given. `cache`: it has a volume for the model.
    `other_device`: an accelerator other than a GPU (TPU, Gaudi, Neuron), whose pool and memory are
    not judged. `rdma`: the container accesses a network card directly. `requested`: resources with
    a request or a limit. `mounts`: volumes by path. `user`: numeric user id, if set.
    `read_only_root`: the root file system is read-only. `ephemeral`: limit of the local disk.
    """

    shm_bytes: float | None
    shm_place: Place | None = None
    memory: Given | None = None
    memory_bytes: float | None = None
    cpu: Given | None = None
    cpu_cores: float | None = None
    gpus: float | None = None
    gpu_place: Place | None = None
    gpu_requested_only: bool = False
    requested: frozenset[str] = frozenset()
    probes: Mapping[str, Probe] = field(default_factory=dict)
    privileged: Given | None = None
    has_cache: bool = False
    devices: str = ""
    other_device: bool = False
    rdma: bool = False
    mounts: Mapping[str, Mount] = field(default_factory=dict)
    user: Given | None = None
    read_only_root: Given | None = None
    ephemeral: Given | None = None
    ephemeral_bytes: float | None = None


@dataclass(frozen=True, slots=True)
class Pod:
    """The pod and the rollout of a Kubernetes workload.

    `scraped`: annotations request a scrape. `ports`: the ports of its containers, by name.
    `gated_by`: another container whose readiness probe delays the pod's readiness. `alone`: the
    engine's container is the only one. `prepared`: it has init containers, which may fill its
    volumes.
    """

    kind: str
    name: str
    namespace: str
    place: Place
    labels: Mapping[str, str]
    replicas: int | None = None
    strategy: str = ""
    max_surge: Given | None = None
    max_unavailable: Given | None = None
    strategy_place: Place | None = None
    grace_s: float | None = None
    grace_place: Place | None = None
    pre_stop_s: float | None = None
    service_links: bool = True
    nodes: int = 1
    raw: bool = True
    scraped: bool = False
    ports: Mapping[str, str] = field(default_factory=dict)
    gated_by: str = ""
    alone: bool = False
    annotations: Mapping[str, str] = field(default_factory=dict)
    prepared: bool = False


@dataclass(frozen=True, slots=True)
class Planned:
    """The planner's result for an engine. `refused`: why it would not start with any amount of
    memory.

    `sure`: true at both ends of the estimate. `card`: empty if unknown; then only `refused` and
    `positions` are set.

    Units: tokens.
    """

    fits: bool
    sure: bool
    sentence: str
    refused: str = ""
    nothing_left: bool = False
    pool_tokens: int = 0
    longest_tokens: int = 0
    model_len: int = 0
    positions: int = 0
    weights_bytes: float = 0.0
    card: str = ""
    change: str = ""


@dataclass(frozen=True, slots=True)
class Engine:
    """One vLLM server that would be started.

    `place`: where it is declared. `version`: what the image or the values say. `floating`: the tag
    moves, or there is none. `complete`: all of its command line was seen, so that what is missing
    is missing. `env_complete`: so for its variables. `stuck`: elements that hold an argument and
    its value together. `cut`: a blank behind the backslash that was to continue the line.
    `handed_on`: the start of the server where the image's entry point is the server already.
    `dropped`: the script of `sh -c` that gets none of the words behind it. `unset`: unresolved
    references in arguments. `not_text`: values of a container's command and variables that YAML
    reads as a number or a boolean. `card_hint`: what the pod's placement says of the card.
    `stretch`: which part of a script starts it; those of another part may be stopped before, or
    never be started (another function). `profiles`: of compose, one of which starts it; none:
    always. `published`: ports of the container that the host publishes. `built`: compose builds the
    image here and gives it that name. `stored_model`: from where KServe fetches the model, which it
    puts at /mnt/models.
    """

    name: str
    form: FileForm
    place: Place
    arguments: Mapping[str, Argument] = field(default_factory=dict)
    occurrences: tuple[Argument, ...] = ()
    model: Given | None = None
    image: Given | None = None
    version: EngineVersion | None = None
    floating: bool = False
    own_image: bool = True
    env: Mapping[str, Given] = field(default_factory=dict)
    env_secret: frozenset[str] = frozenset()
    env_complete: bool = True
    complete: bool = True
    stuck: tuple[tuple[Place, str], ...] = ()
    cut: Place | None = None
    handed_on: Given | None = None
    dropped: Given | None = None
    unset: tuple[tuple[Place, str], ...] = ()
    not_text: tuple[tuple[Place, str], ...] = ()
    host: Host | None = None
    pod: Pod | None = None
    planned: Planned | None = None
    is_cpu: bool = False
    multi_node: bool = False
    card_hint: str = ""
    stretch: int = 0
    profiles: frozenset[str] = frozenset()
    published: tuple[Given, ...] = ()
    built: bool = False
    stored_model: Given | None = None

    def number(self, name: str) -> float | None:
        """The argument as a number, or None."""
        found = self.arguments.get(name)
        return found.number if found is not None else None

    def has(self, name: str) -> bool:
        """True if the argument is given."""
        return name in self.arguments

    def is_on(self, name: str) -> bool | None:
        """The switch as given, or None if it is not."""
        found = self.arguments.get(name)
        return found.value if found is not None and isinstance(found.value, bool) else None

    @property
    def ranks(self) -> int:
        """Tensor times pipeline parallel size."""
        return int(
            (self.number("tensor_parallel_size") or 1)
            * (self.number("pipeline_parallel_size") or 1)
        )

    @property
    def cards(self) -> int:
        """Cards that one container needs, data-parallel engines in it counted."""
        local = self.number("data_parallel_size_local") or self.number("data_parallel_size") or 1
        return int(self.ranks * local)


@dataclass(frozen=True, slots=True)
class Service:
    """A Service, an Ingress, an InferencePool or a published port. `opens`: how it is reached from
    outside, empty if it is not.

    `scraped`: its annotations ask for a scrape. `labels`, `ports` (names): by these a
    ServiceMonitor finds it. `variables`: containers get variables of it (it has an address of its
    own). `targets`: for each of its ports that of the pod, a number or a name.
    """

    name: str
    namespace: str
    place: Place
    selector: Mapping[str, str]
    opens: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    scraped: bool = False
    ports: frozenset[str] = frozenset()
    variables: bool = True
    targets: tuple[Given, ...] = ()
    kind: str = "Service"
    annotations: Mapping[str, str] = field(default_factory=dict)
    ingress_class: str = ""


@dataclass(frozen=True, slots=True)
class Scrape:
    """A Prometheus scrape configuration. `of`: services or pods by `selector`, or anything (its own
    language).

    `plain`: the selector consists of labels only, so its targets are known. `ports`: endpoint
    names, each with its place.
    """

    kind: str
    name: str
    place: Place
    of: Literal["services", "pods", "anything"]
    selector: Mapping[str, str] = field(default_factory=dict)
    plain: bool = True
    ports: tuple[Given, ...] = ()


@dataclass(frozen=True, slots=True)
class Query:
    """A PromQL expression used by an alert, an autoscaler or a rollout. `what`: alert, record,
    scaler, and by which name.
    """

    what: Literal["alert", "record", "scaler"]
    name: str
    expression: str
    place: Place
    threshold: float | None = None
    threshold_place: Place | None = None


@dataclass(frozen=True, slots=True)
class Scaler:
    """An HPA or a ScaledObject. `resources`: (name, place) of resource metrics; `metrics`: names of
    others; `target`: (kind, name).
    `shares`: resources of which the target is a share of what the pods request. `least`, `most`:
    replicas.
    """

    kind: str
    name: str
    namespace: str
    target: tuple[str, str]
    place: Place
    least: float | None = None
    least_place: Place | None = None
    resources: tuple[tuple[str, Place], ...] = ()
    metrics: tuple[tuple[str, Place, float | None], ...] = ()
    queries: tuple[Query, ...] = ()
    other_triggers: int = 0
    shares: frozenset[str] = frozenset()
    most: float | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """A ServingLimits document. `numbers`: every number by its path (`engine.maxNumSeqs`);
    `problems`: what makes it invalid.
    """

    name: str
    place: Place
    target: str
    model: str
    version: Given | None
    numbers: Mapping[str, tuple[float, Place]] = field(default_factory=dict)
    words: Mapping[str, Given] = field(default_factory=dict)
    has_reasons: bool = False
    problems: tuple[tuple[Place, str], ...] = ()


@dataclass(frozen=True, slots=True)
class LoadTest:
    """A certificate of `barostat validate`. `digest`: of the limits (`limits_digest`); `at`: ISO
    8601; empty if it does not say.
    """

    place: Place
    verdict: str
    at: str
    version: str
    model: str
    digest: str
    name: str


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything that was read together. `repeated_keys`: keys that occur twice in one mapping.
    `today`: ISO 8601, empty to skip date checks.

    `contested`: by an engine's place, the limits documents that could apply to it, if there are
    several.
    """

    documents: tuple[Document, ...] = ()
    engines: tuple[Engine, ...] = ()
    services: tuple[Service, ...] = ()
    scalers: tuple[Scaler, ...] = ()
    queries: tuple[Query, ...] = ()
    limits: tuple[Limits, ...] = ()
    repeated_keys: tuple[Given, ...] = ()
    limits_of: Mapping[Place, Limits] = field(default_factory=dict)
    load_tests: tuple[LoadTest, ...] = ()
    today: str = ""
    scrapes: tuple[Scrape, ...] = ()
    contested: Mapping[Place, tuple[Limits, ...]] = field(default_factory=dict)
    claims: tuple[VolumeClaim, ...] = ()
    ray_upgrades: tuple[RayUpgrade, ...] = ()

    @property
    def is_about_vllm(self) -> bool:
        """True if something was read that a rule can judge: an engine, limits, a load test, or an
        alert or autoscaler of vLLM.
        """
        words = [query.expression + query.name for query in self.queries]
        for scaler in self.scalers:
            words += [scaler.name, scaler.target[1], *(name for name, _, _ in scaler.metrics)]
            words += [query.expression for query in scaler.queries]
        return bool(self.engines or self.limits or self.load_tests) or any(
            "vllm" in word.lower() for word in words
        )

    def text_of(self, file: str) -> str | None:
        """The text of a file that can be edited, None for any other."""
        return next((document.text for document in self.documents if document.file == file), None)

    def limits_for(self, engine: Engine) -> Limits | None:
        """The limits document that is about this engine."""
        return self.limits_of.get(engine.place)
