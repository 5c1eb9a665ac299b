"""Certificates beside limits: of these numbers, of this version, passed, and not too old."""

from __future__ import annotations

import pytest

from barostat.io.manifests.read import document_of
from barostat.judge.manifest_check.check import check
from barostat.judge.manifest_check.limits_document import limits_of
from barostat.lint.limits_digest import limits_digest

LIMITS = (
    "{kind: ServingLimits, apiVersion: barostat.dev/v1alpha1, metadata: {name: q}, spec: "
    "{model: Q/q, engine: {maxNumSeqs: %s}}}\n"
)
POD = (
    "---\n{kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a, "
    "image: 'vllm/vllm-openai:v0.32.0', "
    "args: ['--model', 'Q/q', '--max-num-seqs=8']}]}}\n"
)


def digest(text: str) -> str:
    document = document_of(text, "a.yaml")
    found = limits_of(document, document.roots[0])
    assert found is not None
    return limits_digest(found)


def certificate(**changes: str) -> str:
    said = {
        "verdict": "pass",
        "at": "2026-11-01T10:00:00Z",
        "version": "0.32.0",
        "name": "q",
        "digest": digest(LIMITS % 8),
        **changes,
    }
    return (
        f"---\n{{kind: LoadTestCertificate, apiVersion: barostat.dev/v1alpha1, verdict: "
        f"{said['verdict']}, at: '{said['at']}', "
        f"engine: {{version: '{said['version']}', model: q}}, limits: {{name: "
        f"{said['name']}, digest: '{said['digest']}'}}}}\n"
    )


def told(*certificates: str, persona: str = "pedant", today: str = "2026-11-20") -> list[str]:
    documents = [document_of(LIMITS % 8 + POD + "".join(certificates), "a.yaml")]
    found = check(documents, persona=persona, today=today).findings  # type: ignore[arg-type]
    return [one.message for one in found if one.rule == "not-load-tested"]


def test_a_certificate_of_these_limits_is_enough() -> None:
    assert told(certificate()) == []


@pytest.mark.parametrize(
    ("certificates", "ordinary", "words"),
    [
        ([], False, "no load test"),
        ([certificate(digest="sha256:other")], True, "changed after their load test"),
        ([certificate(digest="sha256:other", name="somebody-else")], False, "no load test"),
        ([certificate(verdict="inconclusive")], True, "its verdict is inconclusive"),
        ([certificate(verdict="fail", digest="sha256:other")], True, "failed"),
        ([certificate(verdict="fail")], True, "failed"),
        (
            [certificate(), certificate(verdict="fail", at="2026-11-10T10:00:00Z")],
            True,
            "failed",
        ),
        ([certificate(version="0.30.1")], True, "on vLLM 0.30.1"),
        ([certificate(at="2026-07-01T10:00:00Z")], False, "142 days old"),
    ],
)
def test_what_it_finds_and_who_is_told(certificates: list[str], ordinary: bool, words: str) -> None:
    (message,) = told(*certificates)
    assert words in message
    assert bool(told(*certificates, persona="ordinary")) is ordinary


@pytest.mark.parametrize("engine", [POD, ""], ids=["with-engine", "limits-alone"])
@pytest.mark.parametrize("name", ["q", "of-other-limits"])
def test_a_failed_load_test_is_an_error_with_and_without_an_engine(engine: str, name: str) -> None:
    failed = certificate(verdict="fail", name=name, digest="sha256:unknown")
    found = check([document_of(LIMITS % 8 + engine + failed, "a.yaml")]).findings
    assert [one.severity for one in found if one.rule == "not-load-tested"] == ["error"]


def test_a_later_pass_heals_a_failure_and_an_unknown_day_has_no_age() -> None:
    assert told(certificate(verdict="fail", at="2026-10-01T10:00:00Z"), certificate()) == []
    assert told(certificate(at="some day")) == []
    assert told(certificate(at="2020-01-01T00:00:00Z"), today="") == []


def test_the_digest_is_of_the_numbers_only() -> None:
    plain = digest(LIMITS % 8)
    commented = (
        "# reviewed\nkind: ServingLimits\nmetadata: {name: other}\nspec:\n  engine: "
        "{maxNumSeqs: 8.0}  # eight\n  model: other\n"
    )
    assert digest(commented + "because: {engine.maxNumSeqs: why}\n") == plain
    assert digest(LIMITS % 9) != plain
