"""The figures that SECURITY.md states are those of the tests' own tables."""

from __future__ import annotations

import re
from pathlib import Path

from tests.integration.gateway_attacks import attacks
from tests.integration.gateway_dialect_attacks import dialect_attacks
from tests.integration.gateway_guide_attacks import guide_attacks
from tests.integration.test_bounds import CPU_S, MEMORY_MIB
from tests.support.attack import payloads
from tests.support.secret_corpus import forms
from tests.support.worst_inputs import WORST
from tests.unit.core.redaction import test_credentials_corpus as corpus
from tests.unit.io.redaction import test_text_corpus as fresh
from tests.unit.io.redaction import test_text_forms as forms_of_today

ROOT = Path(__file__).resolve().parents[2]
TEXT = " ".join((ROOT / "SECURITY.md").read_text(encoding="utf-8").split())

_IN_WORDS = {8: "eight", 9: "nine", 10: "ten"}


def test_the_hostile_inputs_are_counted() -> None:
    assert (
        f"held: {len(WORST)} of the worst to the readers, {len(payloads('x'))} attacks in "
        f"every string of {_pages()} pages"
    ) in TEXT


def test_the_attacks_on_the_gateway_are_counted() -> None:
    made = attacks()
    assert f"{len(made)} in {_IN_WORDS[len({one.kind for one in made})]} classes" in TEXT
    dialects = sum(len(list(rows)) for _, rows in dialect_attacks())
    assert f"{dialects} more by what a body, a version or a feature is taken for" in TEXT
    guided = sum(len(list(rows)) for _, rows in guide_attacks())
    assert f"{guided} more at what the guide promises" in TEXT


def test_the_secret_forms_are_counted() -> None:
    held = len(corpus.TEXTS) + len(corpus.NAMES) + len(corpus.FLAGS)
    assert held >= 300
    assert f"tried and held: {held}, with {len(corpus.HARMLESS)} harmless look-alikes" in TEXT
    of_today = len(forms_of_today.FORMS) + len(forms_of_today.OBJECT_FORMS)
    assert (
        f"of {of_today} more, and {len(forms_of_today.HARMLESS)} look-alikes, at most "
        f"{forms_of_today.MOST_LEAKED_RATIO:.0%} leak".replace("%", " %")
    ) in TEXT
    assert f"at most {corpus.MOST_LOST_RATIO:.0%} may be lost".replace("%", " %") in TEXT


def test_the_later_corpora_are_counted() -> None:
    first, second, third, fourth, fifth = (
        (len(made), len(forms(f"lookalikes_{name}")), len(forms(f"prompts_{name}")))
        for name, made in fresh.CORPORA.items()
    )
    assert "{} forms, {} look-alikes and {} log lines".format(*first) in TEXT
    assert "{}, {} and {}, written after those fixes".format(*second) in TEXT
    assert "Then {}, {} and {}, again without a look at the code".format(*third) in TEXT
    assert "and {}, {} and {} from issuers, tools and protocols".format(*fourth) in TEXT
    assert "Then {}, {} and {}, written before their author".format(*fifth) in TEXT


def test_the_bounds_are_those_that_are_held() -> None:
    assert f"{MEMORY_MIB} MiB and {CPU_S:g} s of CPU" in TEXT


def _pages() -> int:
    source = (ROOT / "tests" / "support" / "attacked_pages.py").read_text(encoding="utf-8")
    return len(re.findall(r'^        "[\w-]+": ', source, flags=re.MULTILINE))
