"""The completion scripts offer what the parser takes."""

from __future__ import annotations

import argparse
import shutil
import subprocess
from pathlib import Path

import pytest

from barostat.shells.cli.about.completion import SHELLS, names
from barostat.shells.cli.about.completion_scripts import levels, script
from barostat.shells.cli.main import VERBS, main


def offered(tmp_path: Path, *words: str) -> list[str]:
    """What bash offers for the last of the words; `barostat completion names` answers with its own
    arguments.
    """
    (tmp_path / "script").write_text(script("bash"))
    told = (
        'barostat() { echo "${@:3}" | tr " " "\\n"; }; source "$0"; COMP_WORDS=("$@"); '
        "COMP_CWORD=$(($# - 1)); _barostat; "
    )
    told += 'printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(
        ["bash", "-c", told, str(tmp_path / "script"), "barostat", *words],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_every_verb_has_a_level() -> None:
    assert {level.path for level in levels()} >= {"", *VERBS, "limits diff", "incident show"}


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("dia",), ["diagnose"]),
        (("limits", "d"), ["diff"]),
        (("diagnose", "--wat"), ["--watch"]),
        (("-v", "diagnose", "-o", "j"), ["json"]),
        (("help", "simu"), ["simulate"]),
        (("plan", "--gpu", "c"), ["cards"]),
        (("diagnose", "-n", "prod", "--context", "west", "prod"), ["prod"]),
        (("mitigate", "-n", "nam"), ["namespaces"]),
        (("twin", "--", "vllm", "s"), []),
    ],
)
def test_bash_offers_what_fits(tmp_path: Path, words: tuple[str, ...], expected: list[str]) -> None:
    assert offered(tmp_path, *words) == expected


@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_can_read_its_script(tmp_path: Path, shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    (tmp_path / "script").write_text(script(shell))
    done = subprocess.run([shell, "-n", str(tmp_path / "script")], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_names_come_from_the_catalogue_and_the_pages() -> None:
    nobody = argparse.Namespace(namespace=None, context=None, kubeconfig="/nowhere/config")
    assert "H100-SXM5-80GB" in names("cards", nobody)
    assert "kv-preemption-thrash" in names("pages", nobody)
    assert names("targets", nobody) == []


def test_a_script_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "fish"]) == 0
    assert "complete -c barostat" in capsys.readouterr().out
