"""Limits that no load test has proved, or that one has proved for another configuration.

Meaning: no certificate of `barostat validate` is about these limits; or the newest one is of other
numbers, of another version of the engine, failed, or is older than 90 days.
Impact: whether the engine keeps its service level at what the limits allow is found out in
production.

Bad:

    {kind: ServingLimits, apiVersion: barostat.dev/v1alpha1, metadata: {name: qwen},
      spec: {model: Qwen/Qwen3-8B, engine: {maxNumSeqs: 64}, request: {maxInputTokens: 8192,
      maxOutputTokens: 1024}}}
    ---
    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a, image:
    "vllm/vllm-openai:v0.32.0",
      args: ["--model", "Qwen/Qwen3-8B", "--max-num-seqs=64"], resources: {limits: {nvidia.com/gpu:
      1}}}]}}
    ---
    {kind: LoadTestCertificate, apiVersion: barostat.dev/v1alpha1, verdict: pass, at:
    "2026-11-20T10:00:00Z",
      engine: {version: "0.32.0", model: Qwen/Qwen3-8B}, limits: {name: qwen, digest:
      "sha256:of-other-numbers"}}

Good:

    {kind: ServingLimits, apiVersion: barostat.dev/v1alpha1, metadata: {name: qwen},
      spec: {model: Qwen/Qwen3-8B, engine: {maxNumSeqs: 64}, request: {maxInputTokens: 8192,
      maxOutputTokens: 1024}}}
    ---
    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a, image:
    "vllm/vllm-openai:v0.32.0",
      args: ["--model", "Qwen/Qwen3-8B", "--max-num-seqs=64"], resources: {limits: {nvidia.com/gpu:
      1}}}]}}
    ---
    {kind: LoadTestCertificate, apiVersion: barostat.dev/v1alpha1, verdict: pass, at:
    "2026-11-20T10:00:00Z",
      engine: {version: "0.32.0", model: Qwen/Qwen3-8B},
      limits: {name: qwen, digest:
      "sha256:8d69bddb934a0d577a794334cb4bd9ceb62156705f12af69b4a3ec72631a8297"}}

Fix: `barostat validate http://replica:8000 --limits limits.yaml --certificate
limits.certificate.json`; keep that file beside the limits.
Source: the prevention checklist: limits are load-tested before a rollout.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from barostat.core.version import parse_version
from barostat.lint.facts import Engine, Limits, LoadTest, Scene
from barostat.lint.limits_digest import limits_digest
from barostat.lint.rule import Found, Rule

STALE_DAYS = 90
_FIX = "`barostat validate URL --limits FILE --certificate FILE`"


def judge(scene: Scene) -> Iterator[Found]:
    """Every limits document that an engine is under."""
    seen = set()
    for engine in scene.engines:
        limits = scene.limits_for(engine)
        if limits is not None and limits.place not in seen:
            seen.add(limits.place)
            yield from _found(engine, limits, scene)


def _found(engine: Engine, limits: Limits, scene: Scene) -> Iterator[Found]:
    digest = limits_digest(limits)
    ours = [test for test in scene.load_tests if test.digest == digest]
    if not ours:
        if others := [test for test in scene.load_tests if _about(test, limits)]:
            newest = max(others, key=lambda test: test.at)
            said = (
                f"the load test of {newest.at[:10] or 'an unknown day'} was of other numbers "
                "than these limits have now"
            )
            yield Found(limits.place, said, _FIX, persona="ordinary")
        else:
            yield Found(limits.place, "no load test has proved these limits", _FIX, severity="note")
        return
    newest = max(ours, key=lambda test: test.at)
    if newest.verdict != "pass":
        yield Found(
            newest.place,
            f"the newest load test of these limits says {newest.verdict or 'nothing'}, not pass",
            _FIX,
            persona="ordinary",
        )
    tested = parse_version(newest.version)
    if (
        tested is not None
        and engine.version is not None
        and tested.release[:2] != engine.version.release[:2]
    ):
        said = (
            f"these limits were load-tested on vLLM {tested}, and {engine.name} runs "
            f"{engine.version}"
        )
        yield Found(newest.place, said, _FIX, persona="ordinary")
    days = _days(newest.at, scene.today)
    if days is not None and days > STALE_DAYS:
        yield Found(
            newest.place, f"the load test of these limits is {days} days old", _FIX, severity="note"
        )


def _about(test: LoadTest, limits: Limits) -> bool:
    """The certificate names these limits, or their model where it names none."""
    if test.name:
        return test.name == limits.name
    return bool(limits.model) and test.model.rsplit("/", 1)[-1] == limits.model.rsplit("/", 1)[-1]


def _days(at: str, today: str) -> int | None:
    """From the day of a test until today, None where one of them is not known."""
    try:
        return (date.fromisoformat(today[:10]) - date.fromisoformat(at[:10])).days
    except ValueError:
        return None


RULE = Rule(
    "not-load-tested", "limits that no load test has proved", judge, "warning", "high", "pedant"
)
