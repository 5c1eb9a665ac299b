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
from barostat.judge.manifest_check.commands import (
    LONGEST_COMMAND,
    Command,
    assigned_in,
    config_entries,
    dropped,
    handed_on,
    may_serve,
    read_elements,
    read_text,
    starts_itself,
    starts_server,
)
from barostat.judge.manifest_check.config_maps import ConfigMaps, Held, all_meant, meant
from barostat.judge.manifest_check.container_host import host_of
from barostat.judge.manifest_check.container_probes import pre_stop
from barostat.judge.manifest_check.images import image_facts
from barostat.judge.manifest_check.pod_specs import PodSpec
from barostat.judge.manifest_check.serving_runtimes import merged, runtime_container
from barostat.judge.manifest_check.written import written
from barostat.lint.document import Document, Node, Place
from barostat.lint.facts import Argument, Engine, Given

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
"""Programs that a shell text may start next to the engine, and that may listen on their own port.
"""
_MIG = re.compile(r"nvidia\.com/mig-(\d(?:c\.\d)?g\.\d+gb)")
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
        given = any(node.text.lstrip().startswith("-") for node in args)
        of_default = not nodes and _starts_default(found, container)
        if len(joined) > LONGEST_COMMAND or not (
            of_default or ((bare or (kserve and args)) and given)
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
        host=host_of(document, found, container),
        pod=replace(  # without an image: a patch
            found.pod,
            pre_stop_s=pre_stop(container),
            raw=found.pod.raw and image is not None,
            gated_by=gates[0] if gates else "",
            alone=not others and not (line.shell and _BESIDE.search(joined)),
        ),
        is_cpu=facts.is_cpu or "VLLM_CPU_KVCACHE_SPACE" in env,
        card_hint=f"{card_hint(found.spec)} {_slice(container)}".strip(),
        multi_node=found.pod.nodes > 1
        or ("ray" in joined.split() and not _is_alone(found, line, env, complete))
        or bool(re.search(r"ray start|multi-node|--nnodes|--headless", joined)),
    )


def _starts_default(found: PodSpec, container: Node) -> bool:
    """True for a whole workload whose container has vLLM's own image and neither command nor
    arguments: vLLM then serves its default model. A patch has no selector, and Ray's operator puts
    a command of its own into its containers.
    """
    alone = found.pod.kind in ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet")
    whole = found.model is not None or (alone and found.root.get("spec", "selector") is not None)
    return whole and container.get("envFrom") is None and starts_itself(container.word("image"))


def _is_alone(found: PodSpec, line: Command, env: Mapping[str, Given], env_complete: bool) -> bool:
    """True if no cluster can be meant by `--distributed-executor-backend ray`: vLLM then starts
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
            host=host_of(document, found, container),
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
    """Read predictor.model: the runtime provides image and command; this object has arguments,
    resources and environment.
    """
    form = model.word("modelFormat", "name").lower()
    runtime = model.word("runtime").lower()
    args = _words(model, "args")
    document = found.document
    container = runtime_container(document, model.word("runtime"), found.pod.namespace)
    engine = (
        _engine(found, merged(container, model), config_maps) if container is not None else None
    )
    if engine is not None:
        return replace(
            engine,
            name=f"InferenceService {found.pod.name}",
            place=document.place(model.get("modelFormat") or model),
            env_complete=False,
            pod=replace(found.pod, raw=False),
            stored_model=_stored(document, model),
        )
    if form not in ("huggingface", "vllm") and "vllm" not in runtime:
        return None
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
        host=replace(host_of(document, found, model), shm_bytes=None, probes={}, has_cache=True),
        pod=replace(found.pod, raw=False),
        card_hint=f"{card_hint(found.spec)} {_slice(model)}".strip(),
        multi_node=found.pod.nodes > 1,
        stored_model=_stored(document, model),
    )


def _stored(document: Document, model: Node) -> Given | None:
    """Return where the service's model is fetched from: a URI, or a path in its storage."""
    node = model.get("storageUri") or model.get("storage", "path")
    return written(document, node) if node is not None and node.kind == "scalar" else None


def card_hint(spec: Node) -> str:
    """The card that the pod's placement asks for, as labels name it; empty if it does not, or
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
    """Return the MIG profile that the container requests, as in card names: `MIG 1g.10gb`."""
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
    """Return the command words and variables that YAML 1.1 parses as a number or a boolean, except
    tagged ones (`!!str 1`).
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
