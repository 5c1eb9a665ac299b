"""Limits without a passing load test of these numbers on this version.

Meaning: no certificate of `barostat validate` covers these limits; or the newest one failed, was
made with other numbers or another version of the engine, or is older than 90 days. A certificate
whose verdict is `fail` is an error, also where the engine's manifest is not among the files.
Impact: production shows whether the engine keeps its service level at these limits.

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
limits.certificate.json`; keep that file beside the limits. After a failed test, lower the limits.
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
_FAILED_FIX = "lower the limits, or add capacity, and validate again"


def judge(scene: Scene) -> Iterator[Found]:
    """Limits without a current, passing load test; failed load tests, whether or not the manifest
    of an engine is there too.
    """
    matched: set[int] = set()
    for limits in scene.limits:
        digest = limits_digest(limits)
        current = [test for test in scene.load_tests if test.digest == digest]
        others = [test for test in scene.load_tests if _about(test, limits)]
        matched.update(id(test) for test in (*current, *others))
        engines = [engine for engine in scene.engines if scene.limits_for(engine) is limits]
        if current:
            yield from _judged(max(current, key=lambda test: test.at), engines, scene.today)
        elif others:
            yield _of_other_numbers(max(others, key=lambda test: test.at), limits)
        elif engines:
            yield Found(limits.place, "no load test has proved these limits", _FIX, severity="note")
    for test in scene.load_tests:
        if id(test) not in matched and test.verdict == "fail":
            yield _failed(test, "a load test failed; its limits are not among these files")


def _judged(newest: LoadTest, engines: list[Engine], today: str) -> Iterator[Found]:
    """Report problems of the newest load test for exactly these limits."""
    if newest.verdict == "fail":
        yield _failed(newest, "the newest load test of these limits failed")
    elif newest.verdict != "pass":
        verdict = newest.verdict or "missing"
        yield Found(
            newest.place,
            f"the newest load test of these limits did not pass: its verdict is {verdict}",
            _FIX,
            persona="ordinary",
        )
    tested = parse_version(newest.version)
    for engine in engines:
        if tested and engine.version and tested.release[:2] != engine.version.release[:2]:
            yield Found(
                newest.place,
                f"these limits were load-tested on vLLM {tested}, and {engine.name} runs "
                f"{engine.version}",
                _FIX,
                persona="ordinary",
            )
    days = _days(newest.at, today)
    if days is not None and days > STALE_DAYS:
        yield Found(
            newest.place, f"the load test of these limits is {days} days old", _FIX, severity="note"
        )


def _of_other_numbers(newest: LoadTest, limits: Limits) -> Found:
    day = newest.at[:10] or "an unknown day"
    if newest.verdict == "fail":
        return _failed(
            newest, f"the load test of {day} failed; these limits were changed since, not retested"
        )
    return Found(
        limits.place,
        f"these limits were changed after their load test of {day}",
        _FIX,
        persona="ordinary",
    )


def _failed(test: LoadTest, message: str) -> Found:
    return Found(test.place, message, _FAILED_FIX, severity="error", persona="ordinary")


def _about(test: LoadTest, limits: Limits) -> bool:
    """True if the certificate names these limits, or their model where it names no limits."""
    if test.name:
        return test.name == limits.name
    return bool(limits.model) and test.model.rsplit("/", 1)[-1] == limits.model.rsplit("/", 1)[-1]


def _days(at: str, today: str) -> int | None:
    """Days from the test until today; None if either date is unknown."""
    try:
        return (date.fromisoformat(today[:10]) - date.fromisoformat(at[:10])).days
    except ValueError:
        return None


RULE = Rule(
    "not-load-tested", "limits that no load test has proved", judge, "warning", "high", "pedant"
)
