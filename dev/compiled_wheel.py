"""The wheel with its hot half compiled: what decides on each request and carries it, by mypyc, from
the sources that the pure wheel has.

    HATCH_BUILD_HOOK_ENABLE_CUSTOM=true pip wheel .      needs a C compiler and Python's headers; `make compiled` does it

A hook of hatchling's, off unless it is asked for. It compiles a copy: a library beside a source
would stand before what is written there next. Which modules: pyproject.toml. What that costs and
brings: docs/decisions/gateway.md.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SETUP = """
import sys
from mypyc.build import mypycify
from setuptools import setup
flags = ["--ignore-missing-imports", "--follow-imports=silent", "--no-warn-unused-ignores", "--config-file=", "--cache-dir=cache"]
setup(name="compiled", packages=[], ext_modules=mypycify([*flags, *sys.argv[1:]], opt_level="3", debug_level="0", group_name="barostat"),
      script_args=["build_ext", "--inplace"])
"""


class CompiledWheel(BuildHookInterface[Any]):
    """Hatchling's hook for the wheel. Its table in pyproject.toml says which modules
    (`compiled`).
    """

    place: Path | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """The libraries are among what goes into the wheel, whose tag says for which Python and
        machine it is.
        """
        if version == "editable":
            return
        place = self.place = Path(tempfile.mkdtemp(prefix="barostat-compiled-")) / "barostat"
        try:
            libraries = compiled(Path(self.root) / "src", place, self.config["compiled"])
        except BaseException:
            shutil.rmtree(place.parent, ignore_errors=True)
            raise
        build_data["force_include"].update(
            {str(one): str(one.relative_to(place)) for one in libraries}
        )
        build_data["pure_python"], build_data["infer_tag"] = False, True

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """The wheel is there: the copy goes, if one was made."""
        del version, build_data, artifact_path
        if self.place is not None:
            shutil.rmtree(self.place.parent, ignore_errors=True)


def compiled(sources: Path, place: Path, patterns: list[str]) -> list[Path]:
    """A copy of the sources in `place`, compiled; the libraries. Errors: SystemExit with the
    compiler's last words.
    """
    shutil.copytree(sources, place, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    modules = sorted(
        {
            str(file.relative_to(place))
            for pattern in patterns
            for file in place.glob(pattern)
            if file.name != "__init__.py"
        }
    )
    (place / "compile.py").write_text(SETUP)
    done = subprocess.run(
        [sys.executable, "compile.py", *modules],
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
    )
    libraries = sorted(
        file for file in place.rglob("*.so") if "build" not in file.relative_to(place).parts
    )
    if done.returncode or not libraries:
        raise SystemExit(f"mypyc could not compile:\n{(done.stdout + done.stderr)[-3000:]}")
    return libraries
