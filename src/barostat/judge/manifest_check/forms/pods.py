"""Kubernetes objects with a pod spec in them, and KServe's services."""

from __future__ import annotations

from collections.abc import Iterator

from barostat.judge.manifest_check.containers import engines_in
from barostat.judge.manifest_check.form import Form, Source
from barostat.judge.manifest_check.pod_specs import pod_specs
from barostat.lint.document import Document, Node
from barostat.lint.facts import Engine


def _is_of(document: Document, root: Node) -> bool:
    return next(pod_specs(document, root), None) is not None


def _engines(source: Source) -> Iterator[Engine]:
    for pod_spec in pod_specs(source.document, source.root):
        yield from engines_in(pod_spec, source.config_maps)


FORM = Form("a workload of Kubernetes", _is_of, _engines, is_whole=True)
