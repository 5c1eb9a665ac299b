"""Which file of a bundle is what."""

from __future__ import annotations

import pytest

from barostat.io.bundles.layout import Misplaced, Place, place


@pytest.mark.parametrize(
    ("name", "top", "expected"),
    [
        ("bundle.yaml", "", Place("manifest", "")),
        ("x/bundle.yaml", "x", Place("manifest", "")),
        ("metrics/vllm-0/1763713200.prom", "", Place("scrape", "vllm-0", 1763713200.0)),
        ("a/b/metrics/logs/1763713200.5.prom", "a/b", Place("scrape", "logs", 1763713200.5)),
        ("./logs/vllm-0.log", "", Place("log", "vllm-0")),
        ("logs/vllm.8000.log", "", Place("log", "vllm.8000")),
        ("logs/vllm-0.previous.log", "", Place("previous-log", "vllm-0")),
        ("logs/node.example.kernel.log", "", Place("kernel-log", "node.example")),
        (
            "gpu/vllm-0/1763713200.nvidia-smi.csv",
            "",
            Place("gpu", "vllm-0", 1763713200.0, "nvidia-smi.csv"),
        ),
        (
            "gpu/vllm-0/1763713200.5.dcgm.prom",
            "",
            Place("gpu", "vllm-0", 1763713200.5, "dcgm.prom"),
        ),
        ("host/vllm-0/1763713200.json", "", Place("host", "vllm-0", 1763713200.0)),
        ("kubernetes/pods.json", "", Place("kubernetes", "pods")),
        ("gateway/ingress.log", "", Place("gateway", "ingress")),
    ],
)
def test_a_file_is_what_its_name_says(name: str, top: str, expected: Place) -> None:
    assert place(name) == (top, expected)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("metrics/a/latest.prom", "unix time"),
        ("metrics/a/1763713200123.prom", "milliseconds"),
        ("metrics/a/1763713200.csv", ".prom"),
        ("host/a/1763713200.yaml", ".json"),
        ("gpu/a/1763713200.csv", "nvidia-smi.csv"),
        ("gpu/a/nvidia-smi.csv", "unix time"),
        ("logs/a.txt", ".log"),
        ("kubernetes/secrets.json", "pods.json"),
        ("kubernetes/pods", "pods.json"),
        ("gateway/a.txt", ".log"),
    ],
)
def test_a_file_that_lies_wrong_says_what_its_name_should_be(name: str, said: str) -> None:
    found = place(name)
    assert found is not None
    assert isinstance(found[1], Misplaced)
    assert said in found[1].why


@pytest.mark.parametrize(
    "name",
    [
        "README.md",
        "",
        "metrics/._a/1.prom",
        ".git/logs/HEAD",
        "notes/x.txt",
        "metrics/a",
        "logs/.DS_Store",
    ],
)
def test_everything_else_is_no_part_of_a_bundle(name: str) -> None:
    assert place(name) is None
