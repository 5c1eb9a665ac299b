"""Charts and overlays as they rendered at an earlier revision, for what a change of theirs brings:
a newer tag in values, a patch.

The files of that revision are written to a folder of their own, by an index of their own:
repository and work tree stay as they are.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from barostat.io.manifests.changed_lines import root_and_base
from barostat.io.manifests.read import YAML_ENDINGS
from barostat.io.manifests.rendered import Rendered, render_chart, render_overlay
from barostat.lint.document import Place

_OF_CHARTS = (*YAML_ENDINGS, ".tpl", ".txt", ".lock", ".tgz", ".gotmpl")
TIME_LIMIT_S = 60.0


@dataclass(slots=True)
class Before:
    """By rendered document, its earlier output; `tree` is the folder that replaces `root`."""

    root: Path
    tree: Path
    origins: dict[str, Rendered] = field(default_factory=dict)

    def edited_at(self, place: Place) -> Path:
        """The file, as it is called now, in which a person edited what stands at that place of what
        was rendered then.
        """
        traced = Path(self.origins[place.file].traced(place).place.file).resolve()
        return self.root / traced.relative_to(self.tree) if self.tree in traced.parents else traced


@contextmanager
def rendered_before(
    ref: str,
    folder: Path,
    origins: Mapping[str, Rendered],
    changed: Collection[Path],
    *,
    remote: bool = False,
) -> Iterator[Before]:
    """Render the old revision of the charts and overlays with changed or new files; those that did
    not exist are skipped. Errors: as `changed_lines`.
    """
    top, base = root_and_base(ref, folder)
    root = top.resolve()
    asked = {
        name: origin for name, origin in origins.items() if _has_changed(origin, changed, root)
    }
    with TemporaryDirectory(prefix="barostat-") as made:
        before = Before(root, Path(made).resolve() / "tree")
        if asked and _written(root, base, before.tree, Path(made) / "index"):
            for name, origin in asked.items():
                then = before.tree / origin.folder.resolve().relative_to(root)
                if then.is_dir():
                    rendered = (
                        render_chart(then)
                        if (then / "Chart.yaml").is_file()
                        else render_overlay(then, remote=remote)
                    )
                    if not rendered.why:
                        rendered.document.file = name
                        before.origins[name] = rendered
        yield before


def _has_changed(origin: Rendered, changed: Collection[Path], root: Path) -> bool:
    folder = origin.folder.resolve()
    if folder != root and root not in folder.parents:
        return False
    of_it = {Path(source.file).resolve() for source in [*origin.sources, *origin.kustomizations]}
    return any(folder in file.parents or file in of_it for file in changed)


def _written(root: Path, base: str, tree: Path, index: Path) -> bool:
    """True once every file of that revision that a chart or an overlay may be made of lies below
    `tree`.
    """
    environment = {**os.environ, "GIT_INDEX_FILE": str(index)}

    def git(*words: str, stdin: str = "") -> str | None:
        try:
            done = subprocess.run(
                ["git", "-C", str(root), *words],
                input=stdin, capture_output=True, encoding="utf-8", errors="surrogateescape", check=False, timeout=TIME_LIMIT_S,
                env=environment,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout if done.returncode == 0 else None

    if git("read-tree", base) is None or (listed := git("ls-files", "-z")) is None:
        return False
    names = [
        name
        for name in listed.split("\0")
        if name.endswith(_OF_CHARTS) or name.rsplit("/", 1)[-1] == "Kustomization"
    ]
    return (
        git("checkout-index", "-z", "--stdin", f"--prefix={tree}/", stdin="\0".join(names))
        is not None
    )
