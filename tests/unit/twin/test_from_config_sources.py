"""Every field of the twin's settings has its source wherever an engine is described: seen running,
recorded, planned, or given as a command line.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import yaml

from barostat.catalog.settings.table import SETTINGS
from barostat.core.config import ConfigScalar
from barostat.core.version import parse_version
from barostat.core.window import Window
from barostat.engines.vllm.command_line.config import resolve
from barostat.io.bundles import bundle
from barostat.judge.observed.engine import observed_engine
from barostat.judge.observed.twin_settings import twin_settings
from barostat.judge.sizing.plan import PlanRequest, plan
from barostat.judge.sizing.planned_twin import settings_of_plan
from barostat.shells.cli.main import parser
from barostat.shells.cli.simulate.simulate_inputs import engine_of
from barostat.shells.cli.simulate.twin_inputs import Unstartable, serving_of
from barostat.twin.settings import Settings

VERSION = "0.32.0"
NOT_OF_A_SETTING = {
    "kv_blocks", "groups", "behaviour", "edge_input_tokens", "drafting", "kv_role",
}  # fmt: skip
"""The pool's size and layers, the version's decisions, a limit before the engine, and what several
members of one JSON setting come to: speculation, and a pair's KV connector.
"""
OTHER: dict[str, ConfigScalar] = {
    "max_model_len": 4096, "max_num_seqs": 33, "max_num_active_seqs": 7, "max_num_batched_tokens": 4096, "enable_chunked_prefill": False,
    "long_prefill_token_threshold": 99, "scheduling_policy": "priority", "scheduler_reserve_full_isl": False, "watermark": 0.07,
    "async_scheduling": False, "max_num_queued_reqs": 11, "max_num_queued_tokens": 1300, "enable_prefix_caching": False,
    "max_loras": 3,
}  # fmt: skip
"""A value other than the default, for each setting that the twin has."""
OF_TWIN = [setting for setting in SETTINGS.values() if setting.twin]


def words() -> list[str]:
    return [
        (setting.option if value else f"--no-{setting.option[2:]}")
        if isinstance(value, bool)
        else f"{setting.option}={value}"
        for setting in OF_TWIN
        for value in (OTHER[setting.name],)
    ]


def seen_running() -> Settings:
    config = resolve(args=["vllm", "serve", "m", *words()], version=parse_version(VERSION))
    pool = resolve(args=["--num-gpu-blocks-override", "900"])
    window = Window(
        "r",
        0.0,
        config=type(config)({**pool.values, **config.values}),
        version=parse_version(VERSION),
    )
    found = twin_settings(window)
    assert found is not None
    return found.settings


def recorded() -> Settings:
    args = ["serve", "m", "--num-gpu-blocks-override", "900", *words()]
    document = {
        "apiVersion": "barostat.dev/v1alpha1", "kind": "Bundle", "engine": "vllm",
        "replicas": [{"name": "replica-0", "version": VERSION, "args": args}],
    }  # fmt: skip
    with TemporaryDirectory() as folder:
        (Path(folder) / "bundle.yaml").write_text(yaml.safe_dump(document))
        found = twin_settings(observed_engine(bundle.read(Path(folder))).window)
    assert found is not None
    return found.settings


def planned() -> Settings:
    from barostat.catalog.cards import find_card
    from barostat.catalog.models import find_model
    from barostat.kv.read_architecture import read_architecture

    model, version = find_model("Qwen/Qwen3-8B"), parse_version(VERSION)
    assert model is not None
    assert version is not None
    config = resolve(args=["vllm", "serve", model.name, *words()], version=version)
    request = PlanRequest(
        read_architecture(model.config, "test"), model.name, version, config, find_card("H100")
    )
    return settings_of_plan(plan(request))


def arguments(*given: str) -> argparse.Namespace:
    return parser().parse_args(list(given))


def by_blocks() -> Settings:
    return engine_of(
        arguments("simulate", "--workload", "closed:", "--kv-blocks", "900", "--engine-version", VERSION, *words())
    ).settings  # fmt: skip


def by_model() -> Settings:
    return engine_of(
        arguments(
            "simulate", "--workload", "closed:", "--model-config", "Qwen/Qwen3-8B", "--gpu", "H100", "--engine-version", VERSION, *words()
        )
    ).settings  # fmt: skip


def served() -> Settings:
    given = arguments(
        "twin", "--gpu", "H100", "--engine-version", VERSION, "--", "vllm", "serve", "Qwen/Qwen3-8B", *words()
    )  # fmt: skip
    made = serving_of(given)
    assert not isinstance(made, Unstartable)
    return made[0].settings


SOURCES: list[Callable[[], Settings]] = [
    seen_running, recorded, planned, by_blocks, by_model, served,
]  # fmt: skip


def test_each_field_is_of_one_setting() -> None:
    named = [setting.twin for setting in OF_TWIN]
    assert sorted(named) == sorted({field.name for field in fields(Settings)} - NOT_OF_A_SETTING)
    assert {setting.name for setting in OF_TWIN} == set(OTHER)


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.__name__)
def test_each_setting_arrives_from_each_source(
    source: Callable[[], Settings],
) -> None:
    made: Any = source()
    usual: Any = Settings(900)
    for setting in OF_TWIN:
        assert getattr(made, setting.twin) == OTHER[setting.name], setting.name
        if setting.twin not in ("async_scheduling",):  # the twin's own default is not the engine's
            assert getattr(usual, setting.twin) != OTHER[setting.name], setting.name


def test_the_behaviour_is_the_version_s() -> None:
    for source in SOURCES:
        assert source().behaviour == seen_running().behaviour


@pytest.mark.parametrize(
    ("version", "on"), [("0.12.0", False), ("0.13.0", False), ("0.14.0", True)]
)
def test_asynchronous_scheduling_is_on_from_the_version_that_has_it_by_default(
    version: str, on: bool
) -> None:
    known = parse_version(version)
    config = resolve(args=["vllm", "serve", "m", "--num-gpu-blocks-override=900"], version=known)
    found = twin_settings(Window("r", 0.0, config=config, version=known))
    assert found is not None
    assert found.settings.async_scheduling is on
    direct = engine_of(
        arguments("simulate", "--workload", "closed:", "--kv-blocks", "900", "--engine-version", version)
    )  # fmt: skip
    assert direct.settings.async_scheduling is on
