"""Values of production-stack's chart, and the VLLMRuntime of its operator.

What such values leave out, the chart fills in: only what stands there is judged.
Source: vllm-project/production-stack helm/values.yaml and
operator/internal/controller/vllmruntime_controller.go (the operator passes on what is neither 0 nor
empty; its limits are the requests).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from barostat.judge.manifest_check.commands import Command, read_elements
from barostat.judge.manifest_check.containers import card_hint
from barostat.judge.manifest_check.form import Form, Source, engine_of
from barostat.judge.manifest_check.images import image_facts
from barostat.judge.manifest_check.named_arguments import listed_env, named_arguments, scalars
from barostat.judge.manifest_check.written import written
from barostat.lint.document import Document, Node
from barostat.lint.facts import Engine, Given, Host
from barostat.platform.objects import quantity
from barostat.platform.pods import DEFAULT_SHM_BYTES


def _is_values(_: Document, root: Node) -> bool:
    return root.get("kind") is None and root.get("servingEngineSpec", "modelSpec") is not None


def _is_runtime(_: Document, root: Node) -> bool:
    return root.word("kind") == "VLLMRuntime"


def _is_of(document: Document, root: Node) -> bool:
    return _is_values(document, root) or _is_runtime(document, root)


def _engines(source: Source) -> Iterator[Engine]:
    document, root = source.document, source.root
    if _is_runtime(document, root):
        yield from _runtime(document, root)
        return
    for item in root.maps_at("servingEngineSpec", "modelSpec"):
        if item.word("enabled").lower() != "false":  # an example in the chart's own values
            yield _model_spec(document, item, root.get("servingEngineSpec", "vllmApiKey"))


def _model_spec(document: Document, item: Node, api_key: Node | None) -> Engine:
    """Read one entry of modelSpec. Its keys are texts, of which the chart makes a Secret, or name
    one.
    """
    keys = {"HF_TOKEN": item.get("hf_token"), "VLLM_API_KEY": item.get("vllmApiKey") or api_key}
    plain = {
        name: Given(key.text, document.place(key))
        for name, key in keys.items()
        if key is not None and key.kind == "scalar"
    }
    config = item.get("vllmConfig")
    extra = scalars(config.list_at("extraArgs")) if config is not None else []
    line = read_elements(document, extra, {}, all_env=False) if extra else Command()
    repository, tag = item.get("repository"), item.get("tag")
    reference = (
        f"{repository.text}:{tag.text}"
        if repository is not None and tag is not None and tag.text
        else ""
    )
    cards, memory, shm = item.get("requestGPU"), item.get("limitMemory"), item.get("shmSize")
    engine = engine_of(
        line,
        name=f"modelSpec {item.word('name')}",
        form="values",
        place=document.place(item.get("name") or item),
        image=Given(reference, document.place(tag)) if tag is not None and reference else None,
        facts=image_facts(reference) if reference else None,
        env={**plain, **listed_env(document, item)},
    )
    return replace(
        engine,
        arguments={**named_arguments(document, config), **line.arguments},
        model=written(document, item.get("modelURL")),
        complete=True,
        env_complete=False,
        multi_node=item.get("raySpec") is not None,
        env_secret=frozenset(
            name for name, key in keys.items() if key is not None and key.kind == "map"
        ),
        card_hint=card_hint(item),
        host=Host(
            shm_bytes=quantity(shm.text) if shm is not None else None,
            shm_place=document.place(shm) if shm is not None else None,
            memory=written(document, memory),
            memory_bytes=quantity(memory.text) if memory is not None else None,
            gpus=(cards and quantity(cards.text)) or None,
            gpu_place=document.place(cards) if cards is not None else None,
            has_cache=True,
        ),
    )


def _runtime(document: Document, root: Node) -> Iterator[Engine]:
    config, deployment = root.get("spec", "vllmConfig"), root.get("spec", "deploymentConfig")
    if config is None or deployment is None:
        return
    named = {
        **named_arguments(document, root.get("spec", "model")),
        **named_arguments(document, config),
    }
    extra = scalars(config.list_at("extraArgs"))
    line = read_elements(document, extra, {}, all_env=False) if extra else Command()
    image, resources = deployment.get("image", "name"), deployment.get("resources")
    cpu, memory, cards = (
        resources.get(key) if resources is not None else None for key in ("cpu", "memory", "gpu")
    )
    shm = deployment.get("shmSize")
    engine = engine_of(
        line,
        name=f"VLLMRuntime {root.word('metadata', 'name')}",
        form="values",
        place=document.place(root.get("metadata", "name") or root),
        image=written(document, image),
        facts=image_facts(image.text if image is not None else ""),
        env=listed_env(document, config),
    )
    yield replace(
        engine,
        arguments={
            **{name: one for name, one in named.items() if one.text not in ("0", "")},
            **line.arguments,
        },
        model=written(document, root.get("spec", "model", "modelURL")),
        complete=line.complete,
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


FORM = Form("values of production-stack", _is_of, _engines)
