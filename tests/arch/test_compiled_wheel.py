"""What compiles the gateway's hot half: it takes away nothing but its own copy, and what it is told
to compile is there.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from dev import compiled_wheel
from dev.compiled_wheel import CompiledWheel

ROOT = Path(__file__).resolve().parents[2]
HOOK = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"][
    "wheel"
]["hooks"]["custom"]


def hook(root: Path) -> CompiledWheel:
    nothing: Any = None
    return CompiledWheel(str(root), dict(HOOK), nothing, nothing, str(root), "wheel")


def test_every_module_that_is_to_be_compiled_is_there() -> None:
    assert not [pattern for pattern in HOOK["compiled"] if not list((ROOT / "src").glob(pattern))]


def test_an_editable_install_leaves_the_folder_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "work").write_text("a day's")
    monkeypatch.chdir(tmp_path)
    one = hook(tmp_path)
    one.initialize("editable", {})
    one.finalize("editable", {}, "")
    assert (tmp_path / "work").read_text() == "a day's"


def test_a_copy_that_cannot_be_compiled_is_taken_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled_wheel, "SETUP", "raise SystemExit('no compiler')")
    (tmp_path / "src" / "barostat" / "admit").mkdir(parents=True)
    one = hook(tmp_path)
    with pytest.raises(SystemExit, match="no compiler"):
        one.initialize("standard", {"force_include": {}})
    assert one.place is not None
    assert not one.place.parent.exists()
