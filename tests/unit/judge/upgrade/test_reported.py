"""Which reported regressions a change brings to a deployment."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from tests.support.planned_engines import planned
from tests.unit.judge.upgrade.test_upgrade import deployed, version

from barostat.catalog.cards import CARDS
from barostat.catalog.known_regressions import REGRESSIONS
from barostat.catalog.settings.table import SETTINGS
from barostat.judge.upgrade.deployed import Deployed
from barostat.judge.upgrade.reported import brought, left_behind


@pytest.mark.parametrize("one", REGRESSIONS, ids=lambda one: one.name)
def test_a_row_names_threads_versions_cards_and_settings_that_exist(one: object) -> None:
    assert one in REGRESSIONS
    row = next(row for row in REGRESSIONS if row is one)
    assert row.threads
    assert all(re.fullmatch(r"[\w.-]+/[\w.-]+#\d+", thread) for thread in row.threads)
    assert version(row.good) < version(row.bad) <= version(row.last_bad)
    if row.fixed:
        assert version(row.fixed) > version(row.last_bad)
    for card in row.cards:
        assert any(known.name.startswith(card) for known in CARDS), card
    assert set(row.settings) <= set(SETTINGS) | {"tokenizer"}
    assert row.times is None or row.harm in ("slow", "stops")


def test_names_are_unique() -> None:
    assert len({row.name for row in REGRESSIONS}) == len(REGRESSIONS)


def mixture(before: str, gpu: str = "H200") -> Deployed:
    name = "mistralai/Mixtral-8x7B-Instruct-v0.1"
    plan = planned(name, gpu, "--tp", "4", version=before)
    return replace(deployed(before, gpu), model_name=name, before=plan, after=plan)


def test_it_hits_where_model_and_card_are_those_of_the_report() -> None:
    (one,) = [
        found
        for found in brought(mixture("0.19.0"), version("0.20.0"))
        if found.regression.name == "experts-slow-0.20"
    ]
    assert (one.match, one.unknown, one.is_severe) == ("hits", (), False)


def test_another_card_rules_it_out_and_an_unknown_one_does_not() -> None:
    def names(one: Deployed) -> dict[str, str]:
        return {f.regression.name: f.match for f in brought(one, version("0.20.0"))}

    assert "experts-slow-0.20" not in names(mixture("0.19.0", "B200"))
    assert names(replace(mixture("0.19.0"), card=None))["experts-slow-0.20"] == "may hit"


def test_what_both_versions_have_is_not_brought_and_what_is_fixed_is_left_behind() -> None:
    assert not [f for f in brought(mixture("0.20.0"), version("0.21.0")) if "experts" in f.regression.name]  # fmt: skip
    left = left_behind(mixture("0.21.0"), version("0.32.0"))
    assert "experts-slow-0.20" in [found.regression.name for found in left]


def test_a_setting_of_the_report_has_to_be_there() -> None:
    def names(one: Deployed) -> list[str]:
        return [found.regression.name for found in brought(one, version("0.26.0"))]

    with_it = deployed("0.25.1", kv_transfer_config='{"kv_connector": "LMCacheConnectorV1"}')
    assert "lmcache-wrong-output-0.26" in names(with_it)
    assert "lmcache-wrong-output-0.26" not in names(deployed("0.25.1"))


def test_a_report_that_names_no_deployment_may_hit_any() -> None:
    (one,) = [
        f for f in brought(deployed("0.28.0"), version("0.29.0")) if f.regression.name == "activations-0.29"
    ]  # fmt: skip
    assert one.match == "may hit"
    assert "which deployments it hits" in one.unknown
