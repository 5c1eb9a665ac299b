"""A container of a pod spec -> the engine that it starts, with what surrounds it. A container that
starts no vLLM is none.

Source: core/v1 Container, Probe, SecurityContext; KServe's huggingfaceserver takes vLLM's arguments
beside its own; LeaderWorkerSet's controller (AddLWSVariables).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from barostat.catalog.instance_types import card_of_instance
from barostat.engines.vllm.command_line.config import read_value
from barostat.judge.manifest_check.config_maps import ConfigMaps, Held, all_meant, meant
from barostat.judge.manifest_check.container_probes import pre_stop, probes
from barostat.judge.manifest_check.images import image_facts
from barostat.judge.manifest_check.pod_specs import PodSpec
from barostat.judge.manifest_check.words import (
    LONGEST_COMMAND,
    Command,
    assigned_in,
    config_entries,
    dropped,
    handed_on,
    may_serve,
    read_elements,
    read_text,
    starts_server,
)
from barostat.judge.manifest_check.written import written
from barostat.lint.document import Document, Node, Place
from barostat.lint.facts import Argument, Engine, Given, Host, Mount
from barostat.platform.objects import quantity
from barostat.platform.pods import DEFAULT_SHM_BYTES, is_gpu_resource, is_other_device

CACHE_PATHS = (
    "/root/.cache",
    "/.cache",
    "/models",
    "/model",
    "/data",
    "/mnt",
    "/huggingface",
    "/hf",
    "/cache",
    "/workspace",
    "/home",
)
_OTHER_WORK = re.compile(
    r"^\s*(?:bench|run-batch|collect-env|complete|chat)(?=\s|$)|\bray\s+start\b|sleep\s+(?:inf|\d)"
)
_CARD_LABEL = re.compile(
    r"gpu\.product|gke-accelerator$|instance-gpu-name|instance-type$|gpu[-_.]?(?:model|type|name)|accelerator",
    re.IGNORECASE,
)
_NO_TEXT = re.compile(
    r"[-+]?(?:0x[0-9a-fA-F_]+|0b[01_]+|0o[0-7_]+|[0-9][0-9_]*)|[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
    r"|true|True|TRUE|false|False|FALSE|yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF"
)
_BESIDE = re.compile(
    r"(?<![&>|\\])&(?![&>])|\b(?:nginx|haproxy|envoy|socat|supervisord|caddy|traefik)\b"
)
"""What a shell text starts beside the engine, and that may listen on a port of its own."""
_MIG = re.compile(r"nvidia\.com/mig-(\d(?:c\.\d)?g\.\d+gb)")
_PART_OF_A_CARD = frozenset(("gpu-fraction", "gpu-memory"))
"""Annotations by which NVIDIA's Run:ai gives a pod a part of a card, without a limit."""
_RDMA = re.compile(
    r"^(?:NCCL_IB_|NCCL_NET|UCX_|NVSHMEM_|FI_)|rdma|infiniband|roce|/efa|gpudirect|tcpx"
)
_OF_LEADER_WORKER_SET = frozenset(("LWS_LEADER_ADDRESS", "LWS_GROUP_SIZE", "LWS_WORKER_INDEX"))
"""Variables that its controller sets, before all others, in every container."""


def engines_in(found: PodSpec, config_maps: ConfigMaps) -> Iterator[Engine]:
    """Every engine of the pod spec."""
    if found.model is not None:
        engine = _kserve_model(found, found.model, config_maps)
        if engine is not None:
            yield engine
    for container in [*found.spec.maps_at("containers"), *_sidecars(found.spec)]:
        engine = _engine(found, container, config_maps)
        if found.service is not None and container.get("command") is None:
            engine = _with_kserves_command(found, found.service, container, engine, config_maps)
        if engine is not None:
            yield engine


def _sidecars(spec: Node) -> list[Node]:
    """Init containers that keep running beside the others (restartPolicy: Always)."""
    return [
        item for item in spec.maps_at("initContainers") if item.word("restartPolicy") == "Always"
    ]


def _engine(found: PodSpec, container: Node, config_maps: ConfigMaps) -> Engine | None:
    document = found.document
    command, args = _words(container, "command"), _words(container, "args")
    nodes = [*command, *args]
    image = container.get("image")
    facts = image_facts(container.word("image"))
    env, secret, complete = _env(found, container, config_maps)
    joined = " ".join(node.text for node in nodes)
    kserve = "huggingfaceserver" in container.word("image")
    if not starts_server(joined):
        bare = (
            facts.server
            and not command
            and bool(args)
            and may_serve([node.text for node in args])
            and not _OTHER_WORK.search(joined)
        )
        if (
            not (bare or (kserve and args))
            or len(joined) > LONGEST_COMMAND
            or not any(node.text.lstrip().startswith("-") for node in args)
        ):
            return None
    line = read_elements(
        document,
        nodes,
        {name: given.text for name, given in env.items()},
        all_env=complete and not secret,
    )
    unset = (
        tuple((place, name) for place, name in line.unset if name not in secret) if complete else ()
    )
    if complete and secret:
        line = read_elements(
            document,
            nodes,
            {**dict.fromkeys(secret, ""), **{name: given.text for name, given in env.items()}},
            all_env=True,
        )
        unset = line.unset
        line = read_elements(
            document, nodes, {name: given.text for name, given in env.items()}, all_env=False
        )
    if found.pod.kind == "LeaderWorkerSet":
        unset = tuple((place, name) for place, name in unset if name not in _OF_LEADER_WORKER_SET)
    env |= assigned_in(document, nodes, line)
    merged, whole = _with_config(line, found, container, config_maps)
    last = args[-1] if args else command[-1]
    listed = (
        last.style not in ("|", ">")
        and not line.shell
        and document.text[: last.start].rstrip(" ").endswith("-")
    )
    name = f"{found.pod.kind} {found.pod.name}".strip()
    others = [
        item
        for item in [*found.spec.maps_at("containers"), *_sidecars(found.spec)]
        if item is not container
    ]
    gates = [
        item.word("name") or "another container"
        for item in others
        if item.get("readinessProbe") is not None
    ]
    return Engine(
        name=f"{name}, container {container.word('name')}" if container.word("name") else name,
        form="manifest",
        place=document.place(container.get("name") or container),
        arguments=merged,
        occurrences=line.occurrences,
        model=line.model or _model_of(merged),
        image=written(document, image),
        version=facts.version,
        floating=facts.floating and (facts.server or (facts.tagged and not kserve)),
        own_image=facts.server,
        env=env,
        env_secret=secret,
        env_complete=complete,
        complete=line.complete and whole and not kserve and image is not None,
        stuck=line.stuck,
        cut=line.cut,
        handed_on=None
        if container.get("command") is not None
        or found.pod.kind.startswith("Ray")  # KubeRay puts a command of its own there
        else handed_on(document, args, container.word("image")),
        dropped=dropped(document, nodes),
        unset=unset,
        not_text=_not_text(document, container, nodes),
        host=_host(document, found, container),
        pod=replace(  # without an image: a patch
            found.pod,
            pre_stop_s=pre_stop(container),
            raw=found.pod.raw and image is not None,
            gated_by=gates[0] if gates else "",
            alone=not others and not (line.shell and _BESIDE.search(joined)),
        ),
        list_end=document.place(last) if listed else None,
        list_indent=" " * (last.column - 3) if listed else "",
        is_cpu=facts.is_cpu or "VLLM_CPU_KVCACHE_SPACE" in env,
        card_hint=f"{card_hint(found.spec)} {_slice(container)}".strip(),
        multi_node=found.pod.nodes > 1
        or ("ray" in joined.split() and not _is_alone(found, line, env, complete))
        or bool(re.search(r"ray start|multi-node|--nnodes|--headless", joined)),
    )


def _is_alone(found: PodSpec, line: Command, env: Mapping[str, Given], env_complete: bool) -> bool:
    """True where no cluster can be meant by `--distributed-executor-backend ray`: vLLM then starts
    a Ray of its own, in its container.
    """
    told = line.shell or not env_complete or "RAY_ADDRESS" in env
    return (
        found.pod.kind in ("Deployment", "ReplicaSet", "Pod")
        and not told
        and len(found.spec.maps_at("containers")) == 1
    )


def _with_kserves_command(
    found: PodSpec,
    service: Node,
    container: Node,
    engine: Engine | None,
    config_maps: ConfigMaps,
) -> Engine | None:
    """The engine of an LLMInferenceService, to whose command KServe adds the model, the parallel
    sizes and VLLM_ADDITIONAL_ARGS.

    Source: kserve/kserve config/llmisvcconfig (config-llm-template.yaml and its like).
    """
    document, image = found.document, container.word("image")
    if engine is None:
        if container.word("name") != "main" or (
            image and "llm-d" not in image and not image_facts(image).server
        ):
            return None
        env, secret, _ = _env(found, container, config_maps)
        engine = Engine(
            name=f"{found.pod.kind} {found.pod.name}, container main",
            form="manifest",
            place=document.place(container.get("name") or container),
            env=env,
            env_secret=secret,
            version=image_facts(image).version,
            own_image=False,
            host=_host(document, found, container),
            pod=found.pod,
            card_hint=f"{card_hint(found.spec)} {_slice(container)}".strip(),
            multi_node=found.pod.nodes > 1,
        )
    added = next(
        (
            item.get("value")
            for item in container.maps_at("env")
            if item.word("name") == "VLLM_ADDITIONAL_ARGS"
        ),
        None,
    )
    literal = {name: given.text for name, given in engine.env.items()}
    line = (
        read_text(document, added, literal)
        if added is not None and added.kind == "scalar"
        else Command()
    )
    uri = service.get("model", "uri")
    named = (
        uri.text.removeprefix("hf://") if uri is not None and uri.text.startswith("hf://") else ""
    )
    return replace(
        engine,
        handed_on=None,
        arguments={**_sizes(document, found.sizes), **line.arguments, **engine.arguments},
        occurrences=(*line.occurrences, *engine.occurrences),
        model=Given(named, document.place(uri)) if named and uri is not None else engine.model,
        env_complete=False,
        complete=False,
    )


_SIZES = {"tensor": "tensor_parallel_size", "pipeline": "pipeline_parallel_size", "data": "data_parallel_size",
          "dataLocal": "data_parallel_size_local"}  # fmt: skip


def _sizes(document: Document, parallelism: Node | None) -> dict[str, Argument]:
    """The parallel sizes of an LLMInferenceService as the arguments that KServe makes of them."""
    found = {}
    for key, name in _SIZES.items():
        node = parallelism.get(key) if parallelism is not None else None
        if node is not None and node.kind == "scalar":
            where = document.place(node)
            found[name] = Argument(
                name,
                node.text,
                read_value(name, node.text),
                f"{key}: {node.text}",
                where,
                (where,),
                "values",
            )
    return found


def _kserve_model(found: PodSpec, model: Node, config_maps: ConfigMaps) -> Engine | None:
    """predictor.model: the runtime brings image and command; here stand arguments, resources and
    environment.
    """
    form = model.word("modelFormat", "name").lower()
    runtime = model.word("runtime").lower()
    args = _words(model, "args")
    if form not in ("huggingface", "vllm") and "vllm" not in runtime:
        return None
    document = found.document
    env, secret, _ = _env(found, model, config_maps)
    line = (
        read_elements(
            document, args, {name: given.text for name, given in env.items()}, all_env=False
        )
        if args
        else Command()
    )
    return Engine(
        name=f"InferenceService {found.pod.name}",
        form="manifest",
        place=document.place(model.get("modelFormat") or model),
        arguments=line.arguments,
        occurrences=line.occurrences,
        model=line.model,
        own_image=False,
        env=env,
        env_secret=secret,
        env_complete=False,
        complete=False,
        stuck=line.stuck,
        not_text=_not_text(document, model, args),
        host=replace(_host(document, found, model), shm_bytes=None, probes={}, has_cache=True),
        pod=replace(found.pod, raw=False),
        card_hint=f"{card_hint(found.spec)} {_slice(model)}".strip(),
        multi_node=found.pod.nodes > 1,
    )


def card_hint(spec: Node) -> str:
    """The card that the pod's placement asks for, as labels name it; empty where it does not, or
    names several.
    """
    said = [
        value.text
        for key, value in (spec.get("nodeSelector") or spec).entries.items()
        if value.kind == "scalar" and _CARD_LABEL.search(key)
    ]
    for term in spec.maps_at(
        "affinity",
        "nodeAffinity",
        "requiredDuringSchedulingIgnoredDuringExecution",
        "nodeSelectorTerms",
    ):
        for expression in term.maps_at("matchExpressions"):
            if _CARD_LABEL.search(expression.word("key")) and expression.word("operator") == "In":
                said += [item.text for item in expression.list_at("values")]
    cards = {card_of_instance(text) or text for text in said}
    return cards.pop() if len(cards) == 1 else ""


def _slice(container: Node) -> str:
    """The MIG profile of which the container asks for instances, as card names have it: `MIG
    1g.10gb`.
    """
    for key in ("limits", "requests"):
        asked = container.get("resources", key)
        for name in asked.entries if asked is not None else ():
            if (found := _MIG.match(name)) is not None:
                return f"MIG {found[1]}"
    return ""


def _words(container: Node, key: str) -> list[Node]:
    node = container.get(key)
    if node is None:
        return []
    return (
        [item for item in node.items if item.kind == "scalar"]
        if node.kind == "list"
        else [node]
        if node.kind == "scalar"
        else []
    )


def _env(
    found: PodSpec, container: Node, config_maps: ConfigMaps
) -> tuple[dict[str, Given], frozenset[str], bool]:
    """Return the literal variables, those of ConfigMaps that were read among them; the names of
    those from elsewhere; and whether these are all.

    Source: core/v1 EnvFromSource (a later one overrules an earlier one, `env` overrules both).
    """
    document, namespace = found.document, found.pod.namespace
    literal: dict[str, Given] = {}
    elsewhere: set[str] = set()
    complete = True
    for source in container.maps_at("envFrom"):
        name = source.word("configMapRef", "name")
        held = all_meant(config_maps, name, document, namespace) if name else {}
        complete = complete and bool(held)
        prefix = source.word("prefix")
        literal |= {prefix + key: _held(text) for key, text in held.items()}
    for item in container.maps_at("env"):
        name, value = item.word("name"), item.get("value")
        literal.pop(name, None)
        elsewhere.discard(name)
        if value is not None or "value" in item.entries:
            literal[name] = Given(
                item.word("value"), document.place(value or item), document.place(item)
            )
            continue
        reference = item.get("valueFrom", "configMapKeyRef")
        referred = (
            meant(config_maps, reference.word("name"), reference.word("key"), document, namespace)
            if reference is not None
            else None
        )
        if referred is not None:
            literal[name] = _held(referred)
        else:
            elsewhere.add(name)
    return literal, frozenset(elsewhere), complete


def _held(text: Held) -> Given:
    return Given(text.node.text, text.document.place(text.node))


def _not_text(
    document: Document, container: Node, words: list[Node]
) -> tuple[tuple[Place, str], ...]:
    """What of the command and the variables YAML 1.1 reads as a number or a boolean; one with a tag
    (`!!str 1`) is left out.
    """
    values = [
        value
        for item in container.maps_at("env")
        if (value := item.get("value")) is not None and value.kind == "scalar"
    ]
    return tuple(
        (document.within(node, 0, len(node.text)), node.text)
        for node in [*words, *values]
        if not node.style
        and _NO_TEXT.fullmatch(node.text)
        and document.text.startswith(node.text, node.start)
    )


def _model_of(arguments: Mapping[str, Argument]) -> Given | None:
    for name in ("model", "model_id", "model_dir"):
        found = arguments.get(name)
        if found is not None and found.text:
            return Given(found.text, found.place)
    return None


def _with_config(
    line: Command, found: PodSpec, container: Node, config_maps: ConfigMaps
) -> tuple[dict[str, Argument], bool]:
    """The arguments over those of the --config file, and whether that file could be read."""
    arguments = dict(line.arguments)
    given = arguments.get("config")
    if given is None:
        return arguments, line.complete
    for mount in container.maps_at("volumeMounts"):
        where, path = mount.word("mountPath").rstrip("/"), given.text or ""
        if not where or not (path == where or path.startswith(where + "/")):
            continue
        inside = mount.word("subPath") or path[len(where) + 1 :]
        volume = next(
            (
                item
                for item in found.spec.maps_at("volumes")
                if item.word("name") == mount.word("name")
            ),
            None,
        )
        source = volume.word("configMap", "name") if volume is not None else ""
        key = next(
            (
                item.word("key")
                for item in (volume.maps_at("configMap", "items") if volume else ())
                if item.word("path") == inside
            ),
            inside,
        )
        held = meant(config_maps, source, key, found.document, found.pod.namespace)
        if held is not None:
            return {**config_entries(held.document, held.node), **arguments}, line.complete
    return arguments, False


def _host(document: Document, found: PodSpec, container: Node) -> Host:
    limits, requests = container.get("resources", "limits"), container.get("resources", "requests")
    memory, cpu = limits and limits.get("memory"), limits and limits.get("cpu")
    disk = limits and limits.get("ephemeral-storage")
    cards = _cards(limits)
    asked = _cards(requests)
    shm, shm_place = _shm(document, found, container)
    place = (
        asked[0] if cards is None and asked is not None else cards[0] if cards is not None else None
    )
    return Host(
        shm_bytes=shm,
        shm_place=shm_place,
        memory=written(document, memory),
        memory_bytes=quantity(memory.text) if memory else None,
        cpu=written(document, cpu),
        cpu_cores=quantity(cpu.text) if cpu else None,
        gpus=cards[1]
        if cards is not None
        else None
        if _asks_for_other_device(found, container)
        else 0.0,
        gpu_place=document.place(place) if place is not None else None,
        gpu_requested_only=cards is None and asked is not None,
        requested=frozenset(
            name
            for node in (limits, requests)
            if node is not None and node.kind == "map"
            for name in node.entries
        ),
        probes=probes(document, container),
        privileged=_privileged(document, container),
        has_cache=any(
            mount.word("mountPath").startswith(CACHE_PATHS)
            for mount in container.maps_at("volumeMounts")
        ),
        other_device=_has_other_device(found, container),
        rdma=_uses_rdma(found, container),
        mounts=_mounts(document, found, container),
        user=written(document, _security(found, container, "runAsUser")),
        read_only_root=written(document, root)
        if (root := container.get("securityContext", "readOnlyRootFilesystem")) is not None
        and root.text.lower() == "true"
        else None,
        ephemeral=written(document, disk),
        ephemeral_bytes=quantity(disk.text) if disk else None,
    )


def _security(found: PodSpec, container: Node, key: str) -> Node | None:
    own = container.get("securityContext", key)
    return own if own is not None else found.spec.get("securityContext", key)


def _mounts(document: Document, found: PodSpec, container: Node) -> dict[str, Mount]:
    """Return the container's volumes by their path."""
    volumes = {item.word("name"): item for item in found.spec.maps_at("volumes")}
    mounts = {}
    for item in container.maps_at("volumeMounts"):
        volume = volumes.get(item.word("name"))
        path = item.word("mountPath").rstrip("/")
        keys = [key for key in volume.entries if key != "name"] if volume is not None else []
        source = {"persistentVolumeClaim": "claim"}.get(keys[0], keys[0]) if keys else ""
        limit = volume.get("emptyDir", "sizeLimit") if volume is not None else None
        mounts[path] = Mount(
            path,
            document.place(item.get("mountPath") or item),
            source,
            volume.word("persistentVolumeClaim", "claimName") if volume is not None else "",
            quantity(limit.text) if limit is not None else None,
            item.is_true("readOnly"),
        )
    return mounts


def _asks_for_other_device(found: PodSpec, container: Node) -> bool:
    """True for a resource claim, a device of another kind or a part of a card: how many cards that
    is cannot be told.
    """
    if _PART_OF_A_CARD & found.annotations.keys():
        return True
    return container.get("resources", "claims") is not None or _has_other_device(found, container)


def _has_other_device(found: PodSpec, container: Node) -> bool:
    """Return True for an accelerator that is no GPU: by a resource, the node's label or the image."""
    asked = [container.get("resources", key) for key in ("limits", "requests")]
    labels = found.spec.get("nodeSelector")
    return (
        any(is_other_device(name) for node in asked if node is not None for name in node.entries)
        or any("tpu" in key for key in (labels.entries if labels is not None else ()))
        or image_facts(container.word("image")).other_device
    )


def _uses_rdma(found: PodSpec, container: Node) -> bool:
    """Return True where the container reaches a network card directly: by a variable of NCCL, UCX
    or NVSHMEM, its device, or a resource of it.
    """
    asked = [container.get("resources", key) for key in ("limits", "requests")]
    names = [name for node in asked if node is not None for name in node.entries]
    names += [item.word("name") for item in container.maps_at("env")]
    names += [item.word("mountPath") for item in container.maps_at("volumeMounts")]
    names += found.annotations.keys()
    return any(_RDMA.search(name) for name in names)


def _cards(resources: Node | None) -> tuple[Node, float | None] | None:
    """The key and the sum of cards asked for; None where none is, without a sum where a number
    cannot be read (`${CARDS}`).
    """
    found = (
        [(key, value) for key, value in resources.entries.items() if is_gpu_resource(key)]
        if resources is not None
        else []
    )
    if not found or resources is None:
        return None
    amounts = [quantity(value.text) for _, value in found]
    return resources.keys[found[0][0]], sum(
        amount or 0.0 for amount in amounts
    ) if None not in amounts else None


def _shm(document: Document, found: PodSpec, container: Node) -> tuple[float | None, Place | None]:
    if found.spec.is_true("hostIPC"):
        return None, None
    for mount in container.maps_at("volumeMounts"):
        if mount.word("mountPath").rstrip("/") != "/dev/shm":
            continue
        volume = next(
            (
                item
                for item in found.spec.maps_at("volumes")
                if item.word("name") == mount.word("name")
            ),
            None,
        )
        limit = volume.get("emptyDir", "sizeLimit") if volume is not None else None
        if limit is None:
            return None, document.place(mount)
        return quantity(limit.text), document.place(limit)
    return DEFAULT_SHM_BYTES, None


def _privileged(document: Document, container: Node) -> Given | None:
    node = container.get("securityContext", "privileged")
    return (
        Given(node.text, document.place(node))
        if node is not None and node.text.lower() == "true"
        else None
    )
