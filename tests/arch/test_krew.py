"""The kubectl plugin: its manifest has krew's fields and no other, names the archive that is made,
and its launcher starts barostat.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from dev import krew
from dev.cluster.binaries import folder

PLUGIN = {"apiVersion", "kind", "metadata", "spec"}
SPEC = {"version", "homepage", "shortDescription", "description", "caveats", "platforms"}
PLATFORM = {"selector", "uri", "sha256", "files", "bin"}
OPERATORS = {"In", "NotIn", "Exists", "DoesNotExist"}
NAMING = 50
"""krew's guide asks for short descriptions of about so many characters."""


@pytest.fixture
def manifest() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(krew.MANIFEST.read_text(encoding="utf-8"))
    return found


def test_the_manifest_is_the_one_that_is_made() -> None:
    assert krew.MANIFEST.read_text(encoding="utf-8") == krew.text(), "python dev/krew.py"


def test_it_has_the_fields_of_krew_and_no_other(manifest: dict[str, Any]) -> None:
    spec = manifest["spec"]
    assert set(manifest) == PLUGIN
    assert (manifest["apiVersion"], manifest["kind"]) == (
        "krew.googlecontainertools.github.com/v1alpha2",
        "Plugin",
    )
    assert re.fullmatch(r"[a-z0-9][a-z0-9-]*", manifest["metadata"]["name"])
    assert set(spec) <= SPEC
    assert re.fullmatch(r"v\d+\.\d+\.\d+", spec["version"])
    assert 0 < len(spec["shortDescription"]) <= NAMING
    assert not spec["shortDescription"].endswith(".")
    for platform in spec["platforms"]:
        assert set(platform) == PLATFORM
        assert platform["uri"].startswith("https://")
        assert re.fullmatch(r"[0-9a-f]{64}", platform["sha256"])
        assert all(set(file) == {"from", "to"} for file in platform["files"])
        assert all(one["operator"] in OPERATORS for one in platform["selector"]["matchExpressions"])


def test_the_archive_holds_what_the_manifest_takes_from_it(manifest: dict[str, Any]) -> None:
    (platform,) = manifest["spec"]["platforms"]
    with zipfile.ZipFile(io.BytesIO(krew.archive())) as packed:
        modes = {entry.filename: entry.external_attr >> 16 & 0o777 for entry in packed.infolist()}
    assert set(modes) == {file["from"] for file in platform["files"]}
    assert modes[platform["bin"]] == 0o755
    assert "LICENSE" in modes


def _installed(at: Path) -> Path:
    """A folder with the launcher as krew puts it there, and what a shell needs."""
    at.mkdir()
    shutil.copy(krew.ROOM / krew.LAUNCHER, at / krew.LAUNCHER)
    (at / "sh").symlink_to("/bin/sh")
    return at


def test_without_barostat_it_says_how_to_get_it(tmp_path: Path) -> None:
    plugins = _installed(tmp_path / "bin")
    done = subprocess.run(
        [plugins / krew.LAUNCHER, "version"],
        env={"PATH": str(plugins)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "pipx install" in done.stderr


def test_it_passes_on_every_word_and_the_exit_code(tmp_path: Path) -> None:
    plugins = _installed(tmp_path / "bin")
    tool = plugins / "barostat"
    tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m barostat "$@"\n')
    tool.chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{plugins}:/usr/bin:/bin",
        "PYTHONPATH": os.pathsep.join(sys.path),
        "HOME": str(tmp_path),
    }
    kubectl = next(
        (
            path
            for path in (folder() / "bin" / "kubectl", shutil.which("kubectl"))
            if path and Path(path).exists()
        ),
        None,
    )
    commands = [[str(plugins / krew.LAUNCHER)], *([[str(kubectl), "barostat"]] if kubectl else [])]
    for command in commands:
        done = subprocess.run(
            [*command, "plan", "Qwen/Qwen3-8B", "--gpu", "a b"],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 2, done
        assert "--gpu a b: no card" in done.stderr
    assert kubectl or os.environ.get("CI") != "true", "no kubectl: make cluster-binaries"
