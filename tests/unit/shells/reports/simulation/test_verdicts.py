"""The card on top of a page says what the terminal's last line says; more load is never called
better.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.support.page_text import unbroken

from barostat.shells.cli.main import main

LOAD = [
    "--workload",
    "poisson:rate=2,minutes=2,input=300,output=100",
    "--kv-blocks",
    "400",
    "--step-time",
    "0.03",
]


def _card(command: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    """What the badge says, and all of the card in words."""
    main([*command, "-o", "html"])
    shown = unbroken(capsys.readouterr().out)
    found = re.search('<div class="verdict .*?</div>', shown)
    assert found is not None
    badge = re.search('class="badge">([^<]*)<', found[0])
    assert badge is not None
    return badge[1], re.sub("<[^>]*>", " ", found[0])


@pytest.mark.parametrize(
    ("more", "badge"),
    [
        ([], "KEEPS UP"),
        (["--slo-ttft", "60"], "KEEPS UP"),
        (["--slo-ttft", "0.0001"], "SLO MISSED"),
        (["--scale-rate", "20"], "FALLS BEHIND"),
        (["--kv-blocks", "170"], "PRESSURE"),
        (["--workload", "poisson:rate=2,minutes=0.1,input=300,output=100"], "CANNOT TELL"),
    ],
)
def test_of_one_run(more: list[str], badge: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert _card(["simulate", *LOAD, *more], capsys)[0] == badge


def test_more_load_is_carried_or_not_but_never_better(capsys: pytest.CaptureFixture[str]) -> None:
    badge, told = _card(["what-if", *LOAD, "--set", "load=1.5"], capsys)
    assert badge == "CARRIED"
    assert "load=1.5: it keeps up" in told
    badge, told = _card(["what-if", *LOAD, "--set", "load=20", "--slo-ttft", "2"], capsys)
    assert badge == "SLO MISSED"
    assert "falls behind" in told
    badge, told = _card(
        ["what-if", *LOAD, "--set", "load=1.5", "--set", "watermark=0.05", "--slo-ttft", "60"],
        capsys,
    )
    assert badge == "SLO MET"
    assert "load=1.5: it keeps up, and meets the SLO" in told


def test_without_a_service_level_none_is_better(capsys: pytest.CaptureFixture[str]) -> None:
    badge, told = _card(["what-if", *LOAD, "--set", "max-num-seqs=2"], capsys)
    assert badge == "NO SLO"
    assert "--slo-ttft" in told
    main(["what-if", *LOAD, "--set", "max-num-seqs=2"])
    assert "good/s" not in capsys.readouterr().out
    bundle = str(Path(__file__).parents[4] / "data/bundles/slot-bound")
    asked = [
        "what-if",
        "--from",
        bundle,
        "--set",
        "max-num-seqs=8",
        "--runs",
        "2",
        "--duration",
        "40s",
    ]
    for form in ("table", "html"):
        main([*asked, "-o", form])
        said = capsys.readouterr().out
        assert "requests/s" in said
        assert "good" not in re.sub(r"<style>.*?</style>", "", said, flags=re.DOTALL).lower()
    main([*asked, "--slo-ttft", "5"])
    assert "good/s" in capsys.readouterr().out


def test_a_candidate_with_more_good_requests_is_better(capsys: pytest.CaptureFixture[str]) -> None:
    badge, told = _card(
        ["what-if", *LOAD, "--max-num-seqs", "2", "--slo-ttft", "2", "--set", "max-num-seqs=32"],
        capsys,
    )
    assert badge == "SLO MET"
    assert "max-num-seqs=32" in told


def test_what_has_no_page_is_refused_before_it_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", *LOAD, "--until-it-breaks", "-o", "html"]) == 2
    assert "-o html: is of one" in capsys.readouterr().err
