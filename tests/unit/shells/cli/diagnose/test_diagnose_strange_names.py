"""A replica may be called whatever its bundle says: names are text, never markup."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from barostat.shells.cli.main import main

BUNDLE = Path(__file__).parents[4] / "data" / "bundles" / "kv-preemption-thrash"


NAMES = ("[/nope]", "[bold]x[/bold]", ":skull:", "[link=http://x]y[/link]")
FORMS = ("table", "wide", "md", "html", "json", "yaml")


@pytest.mark.parametrize(
    ("name", "form"),
    [
        pytest.param(
            name,
            form,
            marks=() if form == "table" or name == "[bold]x[/bold]" else pytest.mark.sweep,
        )
        for name in NAMES
        for form in FORMS
    ],
)
def test_a_name_is_printed_as_it_is_and_breaks_nothing(
    name: str, form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "bundle"
    shutil.copytree(BUNDLE, copy)
    manifest = copy / "bundle.yaml"
    manifest.write_text(
        manifest.read_text(encoding="utf-8").replace("name: replica-0", f"name: {name!r}"),
        encoding="utf-8",
    )
    assert main(["diagnose", "--bundle", str(copy), "--no-trials", "-o", form]) in (1, 3)
    out = capsys.readouterr().out
    as_rendered = out.replace("\\", "").replace("`", "") if form == "md" else out
    assert name.strip("[]/:") in as_rendered
