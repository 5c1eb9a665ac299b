"""The example repository of a platform team: it holds to itself, a bad change is refused, what is
made from the limits is current.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

pytestmark = pytest.mark.sweep

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "platform-team"
LIMITS = "models/qwen3-8b/limits.yaml"
DEPLOYMENT = "models/qwen3-8b/deployment.yaml"


@pytest.fixture
def team(tmp_path: Path) -> Path:
    """A copy of the repository, committed, with a `barostat` beside it on the path."""
    shutil.copytree(EXAMPLE, tmp_path / "team")
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    command = bin_folder / "barostat"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m barostat "$@"\n')
    command.chmod(0o755)
    ran(tmp_path / "team", "git", "init", "-q", "-b", "main")
    ran(tmp_path / "team", "git", "add", "-A")
    ran(
        tmp_path / "team",
        "git",
        "-c",
        "user.name=t",
        "-c",
        "user.email=t@t",
        "commit",
        "-qm",
        "as it is",
    )
    return tmp_path / "team"


def ran(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ, "PYTHONPATH": str(ROOT / "src"), "PATH": f"{folder.parent / 'bin'}:{os.environ['PATH']}", "NO_COLOR": "1",
        "COLUMNS": "140",
    }  # fmt: skip
    return subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def changed(team: Path, file: str, old: str, new: str) -> None:
    text = (team / file).read_text(encoding="utf-8")
    assert re.search(old, text), f"{file} has no {old}"
    (team / file).write_text(re.sub(old, new, text, count=1), encoding="utf-8")


def test_it_holds_to_itself_and_only_a_certificate_is_asked_for(team: Path) -> None:
    ordinary = ran(team, "barostat", "check", ".")
    assert ordinary.returncode == 0, ordinary.stdout + ordinary.stderr
    assert "1 engine" in ordinary.stdout
    pedant = ran(team, "barostat", "check", ".", "--persona", "pedant", "-o", "github")
    assert pedant.returncode == 1
    assert [
        line
        for line in pedant.stdout.splitlines()
        if line.startswith("::") and "not-load-tested" not in line
    ] == []
    assert "no load test has proved these limits" in pedant.stdout


@pytest.mark.parametrize(
    ("file", "old", "new", "rule"),
    [
        (DEPLOYMENT, r"--max-num-seqs=\d+", "--max-num-seqs=512", "limits-differ"),
        (DEPLOYMENT, r"--shutdown-timeout=120", "--swap-space=4", "unknown-flag"),
        (DEPLOYMENT, r"vllm-openai:v0.32.0", "vllm-openai:latest", "floating-tag"),
        (DEPLOYMENT, r"\{port: http, interval", "{port: metrics, interval", "not-scraped"),
        (LIMITS, r"maxNumSeqs: \d+", "maxNumSeqs: -1", "limits-invalid"),
        (
            "models/qwen3-8b/rules.yaml",
            r"expr: .*",
            "expr: DCGM_FI_DEV_FB_USED / DCGM_FI_DEV_FB_TOTAL > 0.9",
            "",
        ),
    ],
)
def test_a_bad_change_is_refused(team: Path, file: str, old: str, new: str, rule: str) -> None:
    changed(team, file, old, new)
    found = ran(team, "barostat", "check", ".", "--since", "HEAD", "-o", "json")
    if rule:
        assert found.returncode == 1, found.stderr
        assert f'"rule": "{rule}"' in found.stdout
    else:
        assert ran(team, "./made-from-limits.sh").returncode == 0
        assert ran(team, "git", "diff", "--exit-code").returncode == 0, (
            "what was edited by hand is made anew"
        )


def test_what_is_made_from_the_limits_is_current_and_follows_them(team: Path) -> None:
    made = ran(team, "./made-from-limits.sh")
    assert made.returncode == 0, made.stderr
    assert ran(team, "git", "diff", "--exit-code").stdout == ""
    changed(team, LIMITS, r"ttftP99Seconds: 2.0", "ttftP99Seconds: 4.0")
    changed(team, LIMITS, r"maxNumSeqs: \d+", "maxNumSeqs: 40")
    assert ran(team, "./made-from-limits.sh").returncode == 0
    assert set(ran(team, "git", "diff", "--name-only").stdout.split()) == {
        LIMITS,
        "models/qwen3-8b/rules.yaml",
        "policy/qwen3-8b.yaml",
    }


def test_the_review_reads_what_a_request_may_do_now(team: Path) -> None:
    shutil.copy(team / LIMITS, team / "old.yaml")
    assert ran(team, "barostat", "limits", "diff", "old.yaml", LIMITS).returncode == 0
    changed(team, LIMITS, r"maxOutputTokens: \d+", "maxOutputTokens: 2000")
    told = ran(team, "barostat", "limits", "diff", "old.yaml", LIMITS)
    assert told.returncode == 1
    assert "2,000" in told.stdout or "2000" in told.stdout


def test_its_pipelines_name_what_is_there() -> None:
    config = yaml.safe_load((EXAMPLE / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    hooks = {
        hook["id"]
        for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    }
    assert {hook["id"] for repo in config["repos"] for hook in repo["hooks"]} <= hooks
    steps = yaml.safe_load((EXAMPLE / ".github/workflows/limits.yaml").read_text(encoding="utf-8"))[
        "jobs"
    ]["check"]["steps"]
    (step,) = [step for step in steps if "/barostat/" in step.get("uses", "")]
    action = step["uses"].split("/barostat/")[1].split("@")[0]
    inputs = yaml.safe_load((ROOT / action / "action.yml").read_text(encoding="utf-8"))["inputs"]
    assert set(step["with"]) <= set(inputs)
    pipeline = yaml.safe_load((EXAMPLE / ".gitlab-ci.yml").read_text(encoding="utf-8"))
    shared = yaml.safe_load(
        (ROOT / pipeline["include"]["remote"].split("v0.1.0/")[1]).read_text(encoding="utf-8")
    )
    assert pipeline["limits"]["extends"] in shared
    assert set(pipeline["limits"]["variables"]) <= set(shared[".barostat-check"]["variables"])


def test_the_readme_names_every_file() -> None:
    said = set(
        re.findall(
            r"^    ([\w./-]+)  +\S",
            (EXAMPLE / "README.md").read_text(encoding="utf-8"),
            flags=re.MULTILINE,
        )
    )
    there = {str(path.relative_to(EXAMPLE)) for path in EXAMPLE.rglob("*") if path.is_file()}
    assert said == there - {"README.md"}
