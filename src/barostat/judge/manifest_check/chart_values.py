"""Engines that the values of a chart describe: production-stack, llm-d's modelservice, vLLM's own
chart; KubeAI's Model and VLLMRuntime.

What such values leave out, the chart fills in: only what stands there is judged.
Source: vllm-project/production-stack helm/values.yaml, llm-d-modelservice values, vLLM
examples/chart-helm, kubeai.org/v1 Model.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from barostat.catalog.settings.table import SETTINGS
from barostat.core.whole_number import whole_number
from barostat.engines.vllm.command_line.config import read_value
from barostat.judge.manifest_check.containers import card_hint
from barostat.judge.manifest_check.images import image_facts
from barostat.judge.manifest_check.words import Command, read_elements, starts_server
from barostat.judge.manifest_check.written import written
from barostat.lint.document import Document, Node
from barostat.lint.facts import Argument, Engine, Given, Host
from barostat.platform.objects import quantity
from barostat.platform.pods import DEFAULT_SHM_BYTES

_ODD = {"enableLoRA": "enable_lora", "v1": "", "v0": ""}


def engines_of_values(document: Document, root: Node) -> Iterator[Engine]:
    """The engines of a values file; nothing for any other mapping."""
    if root.get("kind") is not None or root.get("apiVersion") is not None:
        return
    for item in root.maps_at("servingEngineSpec", "modelSpec"):
        if item.word("enabled").lower() != "false":  # an example in the chart's own values
            yield _model_spec(document, item, root.get("servingEngineSpec", "vllmApiKey"))
    uri = root.get("modelArtifacts", "uri")
    for role in ("decode", "prefill"):
        for container in root.maps_at(role, "containers"):
            if container.word("modelCommand") in (
                "vllmServe",
                "custom",
            ) or "vllm" in container.word("image"):
                yield _model_service(document, root, role, container, uri)
    command = root.get("image", "command")
    if (
        command is not None
        and command.kind == "list"
        and starts_server(" ".join(item.text for item in command.items))
    ):
        line = read_elements(
            document, [item for item in command.items if item.kind == "scalar"], {}, all_env=False
        )
        yield _engine(
            document,
            "values of vLLM's chart",
            root,
            root.get("image"),
            line,
            line.model,
            _host(document, root.get("resources")),
        )


def _engine(
    document: Document, name: str, at: Node, image: Node | None, line: Command, model: Given | None, host: Host | None
) -> Engine:  # fmt: skip
    repository, tag = (
        (image.get("repository"), image.get("tag")) if image is not None else (None, None)
    )
    reference = (
        f"{repository.text}:{tag.text}" if repository is not None and tag is not None else ""
    )
    facts = image_facts(reference) if reference else None
    return Engine(
        name=name,
        form="values",
        place=document.place(at),
        arguments=line.arguments,
        occurrences=line.occurrences,
        model=model,
        image=Given(reference, document.place(tag)) if tag is not None and reference else None,
        version=facts.version if facts else None,
        floating=bool(facts and facts.server and facts.floating),
        own_image=bool(facts and facts.server),
        env_complete=False,
        complete=line.complete,
        stuck=line.stuck,
        host=host,
    )


def _model_spec(document: Document, item: Node, api_key: Node | None) -> Engine:
    """One entry of production-stack's modelSpec. Its keys are texts, of which the chart makes a
    Secret, or name one.
    """
    keys = {"HF_TOKEN": item.get("hf_token"), "VLLM_API_KEY": item.get("vllmApiKey") or api_key}
    plain = {
        name: Given(key.text, document.place(key))
        for name, key in keys.items()
        if key is not None and key.kind == "scalar"
    }
    config = item.get("vllmConfig")
    given = _given(document, config) if config is not None else {}
    extra = [
        node
        for node in (config.list_at("extraArgs") if config is not None else ())
        if node.kind == "scalar"
    ]
    line = read_elements(document, extra, {}, all_env=False) if extra else Command()
    url = item.get("modelURL")
    cards, memory, shm = item.get("requestGPU"), item.get("limitMemory"), item.get("shmSize")
    host = Host(
        shm_bytes=quantity(shm.text) if shm is not None else None,
        shm_place=document.place(shm) if shm is not None else None,
        memory=written(document, memory),
        memory_bytes=quantity(memory.text) if memory is not None else None,
        gpus=(cards and quantity(cards.text)) or None,
        gpu_place=document.place(cards) if cards is not None else None,
        has_cache=True,
    )
    model = written(document, url)
    made = _engine(
        document,
        f"modelSpec {item.word('name')}",
        item.get("name") or item,
        item,
        line,
        model,
        host,
    )

    return replace(
        made,
        arguments={**given, **line.arguments},
        complete=True,
        multi_node=item.get("raySpec") is not None,
        env={**plain, **_env(document, item)},
        env_secret=frozenset(
            name for name, key in keys.items() if key is not None and key.kind == "map"
        ),
        card_hint=card_hint(item),
    )


def _given(document: Document, config: Node) -> dict[str, Argument]:
    """The entries of a mapping whose keys are vLLM's arguments in camel case."""
    given: dict[str, Argument] = {}
    for key, node in config.entries.items():
        name = _ODD.get(key, _snake(key))
        if node.kind != "scalar" or node.is_null or not name or name not in SETTINGS:
            continue
        where = document.place(node)
        given[name] = Argument(
            name,
            node.text,
            read_value(name, node.text),
            f"{key}: {node.text}",
            where,
            (where,),
            "values",
        )
    return given


def _model_service(
    document: Document, root: Node, role: str, container: Node, uri: Node | None
) -> Engine:
    """A container of llm-d's modelservice values."""
    args = [node for node in container.list_at("args") if node.kind == "scalar"]
    line = read_elements(document, args, {}, all_env=False) if args else Command()
    tensor = root.get(role, "parallelism", "tensor")
    arguments = dict(line.arguments)
    if tensor is not None and "tensor_parallel_size" not in arguments:
        where = document.place(tensor)
        value = read_value("tensor_parallel_size", tensor.text)
        arguments["tensor_parallel_size"] = Argument(
            "tensor_parallel_size",
            tensor.text,
            value,
            f"tensor: {tensor.text}",
            where,
            (where,),
            "values",
        )
    named = (
        uri.text.removeprefix("hf://") if uri is not None and uri.text.startswith("hf://") else ""
    )
    model = line.model or (Given(named, document.place(uri)) if named and uri is not None else None)
    image = container.get("image")
    facts = image_facts(container.word("image"))
    name = f"{role} of {root.word('modelArtifacts', 'name') or 'modelservice'}"
    host = _host(document, container.get("resources"))
    made = _engine(document, name, container.get("name") or container, None, line, model, host)
    return replace(
        made,
        arguments=arguments,
        image=written(document, image),
        version=facts.version,
        floating=facts.floating,
        own_image=facts.server,
        env=_env(document, container),
        multi_node=bool(root.get("multinode") and root.is_true("multinode")),
    )


def _host(document: Document, resources: Node | None) -> Host:
    limits = resources.get("limits") if resources is not None else None
    found = (
        [(key, value) for key, value in limits.entries.items() if key.endswith("/gpu")]
        if limits is not None
        else []
    )
    memory = limits.get("memory") if limits is not None else None
    return Host(
        shm_bytes=None,
        memory=written(document, memory),
        memory_bytes=quantity(memory.text) if memory is not None else None,
        gpus=quantity(found[0][1].text) if found else None,
        gpu_place=document.place(found[0][1]) if found else None,
        has_cache=True,
    )


def _env(document: Document, item: Node) -> dict[str, Given]:
    return {
        entry.word("name"): Given(
            entry.word("value"), document.place(entry.entries["value"]), document.place(entry)
        )
        for entry in item.maps_at("env")
        if entry.get("value") is not None
    }


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()


def engine_of_model(document: Document, root: Node) -> Engine | None:
    """KubeAI's Model that runs on vLLM."""
    spec = root.get("spec")
    if spec is None or spec.word("engine") != "VLLM":
        return None
    line = (
        read_elements(document, args, {}, all_env=False)
        if (args := _scalars(spec.list_at("args")))
        else Command()
    )
    profile, _, count = spec.word("resourceProfile").rpartition(":")
    url = spec.get("url")
    named = (
        url.text.removeprefix("hf://").partition("?")[0]
        if url is not None and url.text.startswith("hf://")
        else ""
    )
    place = root.get("metadata", "name") or root
    env, image = spec.get("env"), spec.get("image")
    facts = image_facts(spec.word("image"))
    return Engine(
        name=f"Model {root.word('metadata', 'name')}",
        form="values",
        place=document.place(place),
        arguments=line.arguments,
        occurrences=line.occurrences,
        model=Given(named, document.place(url)) if named and url is not None else None,
        image=written(document, image),
        version=facts.version,
        floating=facts.floating and facts.server,
        own_image=facts.server,
        env={
            key: Given(value.text, document.place(value))
            for key, value in (env.entries.items() if env is not None else ())
            if value.kind == "scalar"
        },
        env_complete=False,
        complete=line.complete,
        stuck=line.stuck,
        host=Host(
            shm_bytes=None, gpus=whole_number(count) if "gpu" in profile else None, has_cache=True
        ),
        card_hint=re.sub(r"^nvidia-gpu-", "", profile) if profile.startswith("nvidia-gpu-") else "",
        is_cpu=profile.startswith("cpu"),
    )


def engine_of_runtime(document: Document, root: Node) -> Engine | None:
    """A VLLMRuntime of production-stack's operator, which passes on what is neither 0 nor empty.

    Source: production-stack operator/internal/controller/vllmruntime_controller.go (the arguments,
    and the limits that are the requests).
    """
    config, deployment = root.get("spec", "vllmConfig"), root.get("spec", "deploymentConfig")
    if config is None or deployment is None:
        return None
    model = root.get("spec", "model")
    given = {**(_given(document, model) if model is not None else {}), **_given(document, config)}
    extra = _scalars(config.list_at("extraArgs"))
    line = read_elements(document, extra, {}, all_env=False) if extra else Command()
    url, image, asked = (
        root.get("spec", "model", "modelURL"),
        deployment.get("image", "name"),
        deployment.get("resources"),
    )
    facts = image_facts(image.text if image is not None else "")
    cpu, memory, cards = (
        asked.get(key) if asked is not None else None for key in ("cpu", "memory", "gpu")
    )
    shm = deployment.get("shmSize")
    return Engine(
        name=f"VLLMRuntime {root.word('metadata', 'name')}",
        form="values",
        place=document.place(root.get("metadata", "name") or root),
        arguments={
            **{name: one for name, one in given.items() if one.text not in ("0", "")},
            **line.arguments,
        },
        occurrences=line.occurrences,
        model=written(document, url),
        image=written(document, image),
        version=facts.version,
        floating=facts.floating and facts.server,
        own_image=facts.server,
        env=_env(document, config),
        complete=line.complete,
        stuck=line.stuck,
        host=Host(
            shm_bytes=quantity(shm.text) if shm is not None else DEFAULT_SHM_BYTES,
            shm_place=document.place(shm) if shm is not None else None,
            memory=written(document, memory),
            memory_bytes=quantity(memory.text) if memory is not None else None,
            cpu=written(document, cpu),
            cpu_cores=quantity(cpu.text) if cpu is not None else None,
            gpus=(cards and quantity(cards.text)) or None,
            gpu_place=document.place(cards) if cards is not None else None,
            has_cache=True,
        ),
    )


def _scalars(nodes: Sequence[Node]) -> list[Node]:
    return [node for node in nodes if node.kind == "scalar"]
