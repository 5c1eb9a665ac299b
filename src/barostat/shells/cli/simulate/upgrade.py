"""`barostat what-if --engine-version NEW`: today's version of a deployment beside another one."""

from __future__ import annotations

import argparse
import copy
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from barostat.core.errors import InputError
from barostat.core.version import EngineVersion, parse_version

if TYPE_CHECKING:
    from barostat.catalog.cards import Card
    from barostat.judge.evidence.recording import Recording
    from barostat.judge.experiments.pool_change import Sizing
    from barostat.judge.sizing.plan import CapacityPlan
    from barostat.judge.upgrade.deployed import Deployed
    from barostat.judge.upgrade.upgrade import SimulatedVersion
    from barostat.shells.cli.simulate.situation import Situation
    from barostat.twin.outcome import Outcome
    from barostat.twin.settings import Settings
    from barostat.twin.summary import Summary

    Ran = tuple[Settings, Outcome, Summary, tuple[Summary, ...]]

BETWEEN = ".."
_EXIT = {"safe": 0, "watch": 3, "do-not": 1}


def is_asked(arguments: argparse.Namespace) -> bool:
    """True if two versions are to be compared: OLD..NEW, or NEW beside an engine or a limits
    file that says which version runs today.
    """
    version = arguments.engine_version
    if version is None:
        return False
    if BETWEEN in version:
        return True
    if arguments.source is not None:
        return not arguments.candidates and not arguments.until_it_breaks
    has_traffic = arguments.trace is not None or arguments.workload is not None
    return not has_traffic and not arguments.candidates


def run(arguments: argparse.Namespace) -> int:
    """Compare, print; answer 0 safe, 3 watch, 1 do not."""
    from barostat.judge.upgrade.upgrade import upgrade
    from barostat.shells.reports.json_text import json_text
    from barostat.shells.reports.sheet.forms import shown
    from barostat.shells.reports.simulation.upgrade import upgrade_document, upgrade_json

    _refuse_others(arguments)
    stated, after = _versions(arguments)
    asked = copy.copy(arguments)
    asked.engine_version = None if stated is None else str(stated)
    recording = None
    if asked.source is not None:
        from barostat.shells.cli.simulate.from_engine_inputs import recording_of

        recording = recording_of(asked, asked.source)
    deployed = _deployed(asked, stated, after, recording)
    asked.engine_version = str(deployed.version)
    tried, notes = _tried(asked, deployed, after, recording)
    found = upgrade(deployed, after, tried, notes)
    if arguments.output == "json":
        print(json_text(upgrade_json(found)))
    else:
        sys.stdout.write(shown(upgrade_document(found), arguments.output))
    return _EXIT[found.verdict]


def _refuse_others(arguments: argparse.Namespace) -> None:
    for given, option in (
        (arguments.candidates, "--set"),
        (arguments.until_it_breaks, "--until-it-breaks"),
        (arguments.runs is not None, "--runs"),
    ):
        if given:
            raise InputError("goes without a comparison of two versions", option)


def _versions(arguments: argparse.Namespace) -> tuple[EngineVersion | None, EngineVersion]:
    """The version that runs today, where the arguments say it, and the other."""
    before, _, after = arguments.engine_version.rpartition(BETWEEN)
    if not before and arguments.limits is not None and arguments.source is None:
        from barostat.io.input_files.limits_file import load

        before = load(arguments.limits).spec.engine_version or ""
    read = [parse_version(text) for text in (before, after)]
    where = f"--engine-version {arguments.engine_version}"
    if (before and read[0] is None) or read[1] is None:
        raise InputError("is no version; three numbers such as 0.32.0 were expected", where)
    if not before and arguments.source is None:
        raise InputError(
            "says which version it would be; say which runs today as well: --engine-version "
            f"OLD{BETWEEN}{after}, --from URL, or --limits FILE with its engineVersion",
            where,
        )
    return read[0], read[1]


def _deployed(
    asked: argparse.Namespace,
    stated: EngineVersion | None,
    after: EngineVersion,
    recording: Recording | None,
) -> Deployed:
    """The deployment: as it was seen, else as the arguments have it."""
    from barostat.catalog.cards import find_card
    from barostat.judge.upgrade.deployed import Deployed

    if recording is None:
        assert stated is not None
        sizing, card = _given(asked, stated), find_card(asked.gpu) if asked.gpu else None
        found = Deployed(stated, sizing.config, sizing.model_name, card)
    else:
        from barostat.judge.observed.engine import observed_engine
        from barostat.shells.cli.simulate.from_engine_inputs import seen_sizing

        seen = observed_engine(recording)
        version = stated or seen.window.version
        if version is None:
            raise InputError(
                f"its version was not seen: say --engine-version OLD{BETWEEN}{after}", asked.source
            )
        sizing = replace(seen_sizing(asked, seen), version=version)
        named = seen.window.config.get("model")
        name = sizing.model_name or ("" if named is None else str(named.value))
        card = find_card(asked.gpu or seen.gpu or "")
        found = Deployed(version, seen.window.config, name, card)
    return _planned(found, sizing, after)


def _given(asked: argparse.Namespace, version: EngineVersion) -> Sizing:
    """What the arguments say, in the form in which a running engine's settings come."""
    from barostat.core.units import GIB
    from barostat.engines.vllm.command_line.config import resolve
    from barostat.io.input_files.model_files import open_model
    from barostat.judge.experiments.pool_change import Sizing
    from barostat.kv.read_architecture import read_architecture
    from barostat.shells.cli.engine_options import given_words
    from barostat.shells.cli.simulate.simulate_inputs import card_of, fill_from_limits

    fill_from_limits(asked)
    card = card_of(asked.gpu) if asked.gpu else None
    config = resolve(
        args=["vllm", "serve", *given_words(asked)],
        env={},
        version=version,
        gpu=None if card is None else card.name,
        gpu_memory_gib=None if card is None else card.memory_bytes[0] / GIB,
    )
    if asked.model_config is None:
        return Sizing(config, version, lacks="the model's shape (--model-config)")
    found = open_model(asked.model_config)
    model = read_architecture(found.config, found.source)
    lacks = "" if card is not None else "the card (--gpu)"
    return Sizing(config, version, model, found.name, asked.gpu or "", lacks)


def _planned(found: Deployed, sizing: Sizing, after: EngineVersion) -> Deployed:
    """The same with the plans of both versions, where model and card are known."""
    if sizing.lacks or sizing.model is None:
        why = f"the KV pool of the two versions was not compared: it takes {sizing.lacks}"
        return replace(found, notes=(*found.notes, why))
    try:
        before, then = (_plan(sizing, version, found.card) for version in (found.version, after))
    except InputError as error:
        why = f"the KV pool of the two versions was not compared: {error}"
        return replace(found, notes=(*found.notes, why))
    return replace(found, before=before, after=then)


def _plan(sizing: Sizing, version: EngineVersion, card: Card | None) -> CapacityPlan:
    from barostat.core.config import EngineConfig
    from barostat.judge.sizing.measured_pool import declared_of
    from barostat.judge.sizing.plan import PlanRequest, plan

    assert sizing.model is not None
    declared = declared_of(sizing.config)
    set_by_hand = {
        name: value
        for name, value in declared.values.items()
        if value.provenance != "version-default"
    }
    return plan(
        PlanRequest(sizing.model, sizing.model_name, version, EngineConfig(set_by_hand), card)
    )


def _tried(
    asked: argparse.Namespace, deployed: Deployed, after: EngineVersion, recording: Recording | None
) -> tuple[SimulatedVersion | None, tuple[str, ...]]:
    """Both versions on the same traffic; without any, or where the twin cannot, why not."""
    from barostat.judge.upgrade.upgrade import SimulatedVersion
    from barostat.shells.cli.simulate.situation import situation
    from barostat.shells.reports.simulation.slo_verdict import run_outlooks
    from barostat.twin.settings import would_not_start
    from barostat.twin.summary import Slo

    if recording is None and asked.trace is None and asked.workload is None:
        return None, ("not tried on traffic: none was given (--from, --trace or --workload)",)
    try:
        now = situation(asked, Slo(asked.slo_ttft, asked.slo_itl), recording=recording)
        settings = _settings_then(now, deployed, after)
        ran = [_ran(now, one) for one in (now.settings, settings)]
    except InputError as error:
        return None, (f"not tried on the twin: {error}",)
    shown = [(name, *one[:3]) for name, one in zip(("before", "after"), ran, strict=True)]
    ends = {name: one[3] for name, one in zip(("before", "after"), ran, strict=True)}
    outlooks = run_outlooks(shown, ends, now.slo)
    figures = [_figures(outcome, summary) for _, outcome, summary, _ in ran]
    both = (outlooks["before"], outlooks["after"]) if outlooks else None
    refuses = "" if would_not_start(now.settings) else would_not_start(settings)
    return SimulatedVersion(figures[0], figures[1], both, refuses), now.notes


def _settings_then(now: Situation, deployed: Deployed, after: EngineVersion) -> Settings:
    """The other version's settings: its defaults and rules, and a pool that was seen in the
    proportion of the two plans.
    """
    from barostat.shells.cli.simulate.what_if_candidates import candidate_of

    tried, _ = candidate_of(now.arguments, f"engine-version={after}", now.sizing, now.replicas)
    before, then = deployed.before, deployed.after
    if now.arguments.kv_blocks is None or before is None or then is None or before.pool.blocks < 2:
        return tried.settings
    ratio = (then.pool.blocks - 1) / (before.pool.blocks - 1)
    blocks = max(2, round((now.settings.kv_blocks - 1) * ratio) + 1)
    return replace(tried.settings, kv_blocks=blocks)


def _ran(now: Situation, settings: Settings) -> Ran:
    from barostat.judge.experiments.candidates import Candidate
    from barostat.judge.experiments.trials import outcome_of
    from barostat.shells.cli.simulate.simulate_inputs import front_of
    from barostat.twin.summary import summarise

    rows, candidate = now.load.rows(0), Candidate("", settings)
    found = []
    for pace in now.paces:
        outcome = outcome_of(rows, candidate.trial(0, pace))
        found.append((outcome, summarise(outcome, settings.usable_blocks, now.slo, front_of(pace))))
    return settings, *found[0], tuple(summary for _, summary in found[1:])


def _figures(outcome: Outcome, summary: Summary) -> Mapping[str, float]:
    found = {
        "requests/s": summary.requests_per_s,
        "output tokens/s": summary.output_tokens_per_s,
        "TTFT p50 in s": summary.ttft.p50,
        "TTFT p99 in s": summary.ttft.p99,
        "ITL p50 in s": summary.itl.p50,
        "ITL p99 in s": summary.itl.p99,
        "KV usage": summary.usage_mean_ratio,
        "preemptions": float(outcome.preemptions),
        "recomputed tokens": float(outcome.recomputed_tokens),
    }
    return {name: value for name, value in found.items() if value is not None}
