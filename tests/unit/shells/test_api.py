"""The public Python API: its page runs, its values show themselves, and it refuses in the verbs'
own words.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import pytest

import barostat
from barostat.core.errors import InputError
from barostat.core.limits import ServingLimits
from barostat.shells.api import Diagnosed
from barostat.shells.cli.main import main

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "guide" / "python.md"
BUNDLES = ROOT / "tests" / "data" / "bundles"
BUNDLE = BUNDLES / "kv-preemption-thrash"
LIGHT = BUNDLES / "prefill-bound"
"""Its next steps are tried on the twin, too, in a tenth of the time."""


@cache
def diagnosed() -> Diagnosed:
    return barostat.diagnose(LIGHT)


def test_the_page_runs_as_it_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["example", "all"]) == 0
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(blocks) == 3
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    assert names["found"].cause == "kv-preemption-thrash"  # type: ignore[attr-defined]
    assert names["fits"].fits is True  # type: ignore[attr-defined]
    assert isinstance(names["limits"], ServingLimits)
    assert "output tokens" in capsys.readouterr().out.lower()


def test_it_says_what_the_verb_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diagnose", "--bundle", str(LIGHT), "-o", "json"]) == 1
    said = json.loads(capsys.readouterr().out)
    assert said["replicas"][0]["trials"]["today"]
    assert said == diagnosed().to_dict()
    assert main(["plan", "--model", "Qwen/Qwen3-8B", "--gpu", "H100", "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == barostat.plan("Qwen/Qwen3-8B", "H100").to_dict()


def test_values_show_themselves_in_a_notebook_without_a_script() -> None:
    shown = [
        diagnosed()._repr_html_(),
        barostat.plan("Qwen/Qwen3-8B", "H100")._repr_html_(),
        barostat.simulate(
            "poisson:rate=2,input=30,output=40,minutes=1", kv_blocks=1024, step_time=0.03
        )._repr_html_(),
    ]
    for cell in shown:
        assert cell.startswith("<iframe sandbox srcdoc=")
        assert "<script" not in cell


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (
            lambda: barostat.plan("Qwen/Qwen3-8B", "H100", no_such_flag=3),
            "unrecognized arguments: --no-such-flag",
        ),
        (lambda: barostat.plan("Qwen/Qwen3-8B", "G5000"), "no card of the catalogue"),
        (lambda: barostat.simulate("poisson:rate=2", kv_blocks="many"), "kv-blocks"),
        (lambda: barostat.diagnose("no/such/bundle"), "no/such/bundle"),
        (lambda: barostat.diagnose(BUNDLE, probe=True), "takes no options"),
    ],
)
def test_what_the_verb_refuses_is_refused_in_its_words(call: object, says: str) -> None:
    with pytest.raises(InputError, match=re.escape(says)):
        call()  # type: ignore[operator]


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'mitigate'"):
        _ = barostat.mitigate


def test_tab_offers_what_can_be_asked_for() -> None:
    assert dir(barostat) == sorted(barostat.__all__)


def test_an_answer_fits_a_line() -> None:
    """`repr()` is what a notebook shows of a list of answers."""
    shown = [
        repr(barostat.diagnose(BUNDLE)),
        repr(barostat.plan("Qwen/Qwen3-8B", "H100")),
        repr(barostat.simulate("poisson:rate=2,minutes=1", kv_blocks=400, step_time=0.03)),
    ]
    assert all(len(one) < 160 and "\n" not in one for one in shown), shown
    assert "tokens of KV cache" in shown[1]
