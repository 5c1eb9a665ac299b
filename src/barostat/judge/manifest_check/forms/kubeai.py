"""KubeAI's Model that runs on vLLM.

Source: kubeai.org/v1 Model.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from barostat.core.whole_number import whole_number
from barostat.judge.manifest_check.commands import Command, read_elements
from barostat.judge.manifest_check.form import Form, Source, engine_of
from barostat.judge.manifest_check.images import image_facts
from barostat.judge.manifest_check.named_arguments import hub_name, mapped_env, scalars
from barostat.judge.manifest_check.written import written
from barostat.lint.document import Document, Node
from barostat.lint.facts import Engine, Given, Host


def _is_of(_: Document, root: Node) -> bool:
    return root.word("kind") == "Model" and root.word("spec", "engine") == "VLLM"


def _engines(source: Source) -> Iterator[Engine]:
    document, root, spec = source.document, source.root, source.root.get("spec")
    assert spec is not None
    args = scalars(spec.list_at("args"))
    line = read_elements(document, args, {}, all_env=False) if args else Command()
    profile, _, count = spec.word("resourceProfile").rpartition(":")
    url = spec.get("url")
    named = hub_name(url)
    engine = engine_of(
        line,
        name=f"Model {root.word('metadata', 'name')}",
        form="values",
        place=document.place(root.get("metadata", "name") or root),
        image=written(document, spec.get("image")),
        facts=image_facts(spec.word("image")),
        env=mapped_env(document, spec.get("env")),
    )
    yield replace(
        engine,
        model=Given(named, document.place(url)) if named and url is not None else None,
        complete=line.complete,
        env_complete=False,
        host=Host(
            shm_bytes=None, gpus=whole_number(count) if "gpu" in profile else None, has_cache=True
        ),
        card_hint=re.sub(r"^nvidia-gpu-", "", profile) if profile.startswith("nvidia-gpu-") else "",
        is_cpu=profile.startswith("cpu"),
    )


FORM = Form("a Model of KubeAI", _is_of, _engines)
