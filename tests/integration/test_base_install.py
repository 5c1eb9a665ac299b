"""The base install, from the wheel into an environment of its own: how large it is, that each verb
which needs no extra runs in it, and that the others name their extra in one sentence.

It needs what pip installs from: an index, or a folder of wheels. Where pip reaches none, the tests
are skipped with pip's last words.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from dev.free_port import free_port

from barostat.core.extras import how_to_install
from barostat.shells.cli.extras import EXTRAS
from barostat.shells.cli.main import VERBS

ROOT = Path(__file__).resolve().parents[2]
BUNDLE = ROOT / "tests" / "data" / "bundles" / "kv-preemption-thrash"
MANIFESTS = ROOT / "examples" / "platform-team"
MOST_BYTES = 60e6
NEEDS_AN_EXTRA = (
    "gateway",
    "load",
    "twin_server",
    "io.redis",
    "shells.mcp",
    "shells.cli.prevent.load_inputs",
    "shells.cli.prevent.validate_phases",
)
"""Rooms and modules that may import what an extra brings."""
IMPORTED = """
import importlib, pkgutil, sys
import barostat
left_out = tuple(f"barostat.{room}" for room in sys.argv[1].split(","))
names = [found.name for found in pkgutil.walk_packages(barostat.__path__, "barostat.")]
names = [name for name in names if not name.startswith(left_out) and "__main__" not in name]
missing = {}
for name in names:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing[name] = error.name
print(len(names), missing)
sys.exit(bool(missing))
"""


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The environment, without pip."""
    place = tmp_path_factory.mktemp("base")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(place)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    venv = place / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    pip = [sys.executable, "-m", "pip", "--python", str(venv / "bin" / "python"), "install"]
    pip += ["--quiet", "--disable-pip-version-check", "--retries", "1"]
    done = subprocess.run(
        [*pip, str(next(place.glob("*.whl")))], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"pip installs from nowhere here: {done.stderr.strip().splitlines()[-1:]}")
    return venv


def ran(base: Path, words: Sequence[str], cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(base / "bin" / "barostat"), *words],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
        env={"PATH": "/usr/bin:/bin", "HOME": str(cwd)},
    )


def test_it_is_small(base: Path) -> None:
    size = sum(
        file.stat().st_size for file in base.glob("lib/*/site-packages/**/*") if file.is_file()
    )
    assert size <= MOST_BYTES, f"{size / 1e6:.1f} MB"


def test_no_other_module_needs_an_extra(base: Path) -> None:
    done = subprocess.run(
        [str(base / "bin" / "python"), "-c", IMPORTED, ",".join(NEEDS_AN_EXTRA)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_shows_its_help(base: Path, verb: str, tmp_path: Path) -> None:
    done = ran(base, [verb, "--help"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"usage: barostat {verb}")


def test_a_bundle_is_diagnosed(base: Path, tmp_path: Path) -> None:
    done = ran(base, ["diagnose", "--bundle", str(BUNDLE), "-o", "json"], tmp_path)
    assert done.returncode == 1, done.stderr
    assert "kv-preemption-thrash" in json.dumps(json.loads(done.stdout))


def test_limits_are_planned_and_checked(base: Path, tmp_path: Path) -> None:
    planned = ran(
        base, ["plan", "--model", "Qwen/Qwen3-8B", "--gpu", "H100", "-o", "limits"], tmp_path
    )
    assert planned.returncode == 0, planned.stderr
    (tmp_path / "limits.yaml").write_text(planned.stdout)
    checked = ran(base, ["check", "limits.yaml", "-o", "json"], tmp_path)
    assert checked.returncode in (0, 1), checked.stderr
    assert json.loads(checked.stdout)["kind"]


def test_shared_prefixes_are_simulated(base: Path, tmp_path: Path) -> None:
    rows = [
        {
            "arrival_s": 0.1 * place,
            "input_tokens": 64,
            "output_tokens": 20,
            "hash_ids": [1, 2, 3, 4],
        }
        for place in range(20)
    ]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    words = "simulate --trace rows.jsonl --kv-blocks 64 --step-time 1 -o json"
    done = ran(base, words.split(), tmp_path)
    assert done.returncode in (0, 1), done.stderr
    assert json.loads(done.stdout)["kind"] == "Simulation"


@pytest.mark.long
def test_mitigate_asks_the_api_server(base: Path, tmp_path: Path) -> None:
    port = free_port()
    (tmp_path / "kubeconfig").write_text(
        json.dumps(
            {
                "current-context": "here",
                "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
                "clusters": [{"name": "here", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
                "users": [{"name": "me", "user": {}}],
            }
        )
    )
    words = "mitigate deploy/vllm -n inference --dry-run --kubeconfig kubeconfig"
    done = ran(base, words.split(), tmp_path)
    assert done.returncode == 4, done.stdout + done.stderr
    assert str(port) in done.stderr


RUN = {
    "gateway": ["--limits", "limits.yaml", "--upstream", "http://127.0.0.1:9"],
    "load": ["http://127.0.0.1:9", "--rate", "1", "--duration", "5"],
    "validate": ["http://127.0.0.1:9", "--limits", "limits.yaml"],
    "twin": ["--model", "Qwen/Qwen3-8B", "--gpu", "H100"],
    "mcp": [],
}


@pytest.mark.parametrize("verb", EXTRAS)
def test_the_others_name_their_extra(base: Path, verb: str, tmp_path: Path) -> None:
    plan = ["plan", "--model", "Qwen/Qwen3-8B", "--gpu", "H100", "-o", "limits"]
    (tmp_path / "limits.yaml").write_text(ran(base, plan, tmp_path).stdout)
    done = ran(base, [verb, *RUN[verb]], tmp_path)
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert how_to_install(EXTRAS[verb]) in done.stderr
