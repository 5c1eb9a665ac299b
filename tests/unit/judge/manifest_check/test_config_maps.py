"""ConfigMaps of one name in several environments: each engine is held to its own."""

from __future__ import annotations

from barostat.io.manifests.read import document_of
from barostat.judge.manifest_check.check import check
from barostat.lint.document import Document


def pod(file: str, namespace: str = "") -> Document:
    where = f", namespace: {namespace}" if namespace else ""
    return document_of(
        f"kind: Pod\napiVersion: v1\nmetadata: {{name: a{where}}}\nspec:\n  volumes: "
        f"[{{name: c, configMap: {{name: c}}}}]\n"
        "  containers: [{name: a, image: 'vllm/vllm-openai:v0.32.0', args: [--model, a/b, "
        "--config, /c/c.yaml],"
        " volumeMounts: [{name: c, mountPath: /c}]}]\n",
        file,
    )


def settings(file: str, share: str, namespace: str = "") -> Document:
    where = f", namespace: {namespace}" if namespace else ""
    text = (
        f"kind: ConfigMap\napiVersion: v1\nmetadata: {{name: c{where}}}\ndata:\n  c.yaml: |\n  "
        f"  gpu-memory-utilization: {share}\n"
    )
    return document_of(text, file)


def told(*documents: Document) -> list[str]:
    return [one.place.file for one in check(documents).findings if one.rule == "bad-flag-value"]


def test_the_nearest_file_is_meant() -> None:
    dev, prod = settings("dev/c.yaml", "50"), settings("prod/c.yaml", "0.9")
    assert told(dev, pod("dev/a.yaml"), prod, pod("prod/a.yaml")) == ["dev/c.yaml"]
    assert told(dev, prod, pod("prod/a.yaml")) == []


def test_another_namespace_is_never_meant() -> None:
    assert told(settings("c.yaml", "50", "dev"), pod("a.yaml", "prod")) == []
    assert told(
        settings("c.yaml", "50", "dev"), settings("d.yaml", "0.9", "prod"), pod("a.yaml", "dev")
    ) == ["c.yaml"]
    assert told(settings("c.yaml", "50"), pod("a.yaml", "dev")) == ["c.yaml"]
