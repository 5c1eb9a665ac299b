"""Flags from files and the environment: the command line is strongest, and a repository's file says
nothing of clusters.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from barostat.shells.cli.main import main

ASK = ["plan", "--model", "Qwen/Qwen3-8B", "-o", "json"]


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home and a repository of their own, nothing in the environment."""
    for name in ("BAROSTAT_GPU", "BAROSTAT_PLAN_GPU", "BAROSTAT_OUTPUT", "BAROSTAT_KUBECONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    (tmp_path / "home" / "barostat").mkdir(parents=True)
    (tmp_path / "repository" / "deep").mkdir(parents=True)
    (tmp_path / "repository" / ".git").mkdir()
    monkeypatch.chdir(tmp_path / "repository" / "deep")
    return tmp_path


def home(places: Path, text: str) -> None:
    (places / "home" / "barostat" / "config.toml").write_text(text)


def repository(places: Path, text: str) -> None:
    (places / "repository" / ".barostat.toml").write_text(text)


def planned(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main([*ASK, *words]) in (0, 1)
    return str(json.loads(capsys.readouterr().out)["gpu"])


def test_the_stronger_place_wins(
    places: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home(places, 'gpu = "L4"\n')
    assert planned(capsys) == "L4"
    repository(places, 'gpu = "L40S"\n[plan]\ngpu = "A100"\n')
    assert planned(capsys) == "A100-SXM4-80GB"
    monkeypatch.setenv("BAROSTAT_GPU", "H100")
    assert planned(capsys) == "H100-SXM5-80GB"
    monkeypatch.setenv("BAROSTAT_PLAN_GPU", "H200")
    assert planned(capsys) == "H200-SXM-141GB"
    assert planned(capsys, "--gpu", "L4") == "L4"
    assert planned(capsys, "--gpu=L4") == "L4"


def test_where_a_value_is_from_is_shown(
    places: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home(
        places,
        "[plan]\nheadroom = 0.2\nenforce-eager = true\nasync-scheduling = false\ncompare = "
        '["H100", "L4"]\n',
    )
    monkeypatch.setenv("BAROSTAT_GPU", "H100")
    assert main(["config", "show", "plan", "-o", "json"]) == 0
    found = {
        one["flag"]: (one["value"], one["source"].rpartition("/")[2])
        for one in json.loads(capsys.readouterr().out)["settings"]
    }
    assert found["--gpu"] == ("H100", "BAROSTAT_GPU")
    assert found["--headroom"] == (0.2, "config.toml [plan]")
    assert main([*ASK, "--headroom", "0.1"]) == 0
    assert json.loads(capsys.readouterr().out)["kind"] == "CapacityComparison"
    assert main(["config", "show"]) == 0
    shown = capsys.readouterr().out
    assert "config.toml [plan]" in shown
    assert main(["config"]) == 0
    assert capsys.readouterr().out == shown


def test_what_no_verb_reads_is_shown_with_what_was_meant(
    places: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home(places, 'namespac = "x"\n[plann]\ngpu = "L4"\n[incident]\n')
    monkeypatch.setenv("BAROSTAT_PLAN_GPPU", "L4")
    monkeypatch.setenv("BAROSTAT_LIMITS_OUTPUT", "json")
    assert main(["config", "show"]) == 0
    said = capsys.readouterr().out.partition("not read:\n")[2]
    assert "no verb has --namespac; did you mean namespace?" in said
    assert "no verb is called 'plann'; did you mean plan?" in said
    assert "BAROSTAT_PLAN_GPPU: no flag has this variable; did you mean BAROSTAT_PLAN_GPU?" in said
    assert said.count("\n") == 3


def test_a_configured_namespace_leaves_a_bundle_and_a_url_alone(
    places: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home(places, 'namespace = "inference"\nkubeconfig = "/nowhere"\n')
    monkeypatch.setenv("BAROSTAT_EXIT_ZERO", "yes")
    bundle = Path(__file__).parents[3] / "data" / "bundles" / "kv-preemption-thrash"
    assert main(["diagnose", "--bundle", str(bundle), "--no-trials"]) == 0
    assert "kv-preemption-thrash" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "words", "said"),
    [
        ("[plan]\ngup = 'H100'\n", ASK, "plan has no --gup; did you mean gpu?"),
        ("[plan\n", ASK, "is no TOML"),
        ("gpu = " + "9" * 5000, ASK, "is no TOML"),
        ("[plan]\nseed = [0x" + "f" * 5000 + "]", ASK, "larger than 64 bits"),
        ("gpu = " + "[" * 5000, ASK, "is no TOML"),
        ("[plan]\nenforce-eager = 'perhaps'\n", ASK, "neither true nor false"),
        ("[mitigate]\nautonomy = 'act'\n", ["mitigate", "deploy/vllm"], "which others may write"),
        (
            "[diagnose]\nkubeconfig = 'evil.yaml'\n",
            ["diagnose", "deploy/vllm"],
            "which others may write",
        ),
    ],
)
def test_what_a_repository_cannot_say(
    places: Path, text: str, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    repository(places, text)
    assert main(words) == 2
    assert said in capsys.readouterr().err


def test_a_repository_that_names_a_cluster_for_all_verbs_is_not_heard(
    places: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    repository(places, "kubeconfig = 'evil.yaml'\nautonomy = 'act'\n")
    for verb in ("diagnose", "mitigate"):
        assert main(["config", "show", verb, "-o", "json"]) == 0
        assert json.loads(capsys.readouterr().out)["settings"] == []
