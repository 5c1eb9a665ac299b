"""Render one chart with the Helm library of the wheel `helm-python-sdk`, as `helm template` does.

Runs as a process of its own (`python -m barostat.io.manifests.helm_library FOLDER`), so that a time
limit can end it. No cluster is asked: `lookup` returns nothing.
"""

from __future__ import annotations

import re
import sys
from importlib.util import find_spec

PACKAGE = "helm_python"
_SEPARATOR = re.compile(r"^---[ \t]*$", re.MULTILINE)


def is_installed() -> bool:
    """True if the library can be imported."""
    return find_spec(PACKAGE) is not None


def render(folder: str) -> str:
    """Render the chart with its own values, each document below the name of its template.

    Errors: ValueError for a chart that Helm refuses, or whose dependencies are not there.
    """
    import helm_python

    try:
        with helm_python.Chart.load(folder) as chart:
            declared = chart.metadata.get("dependencies") or []
            present = {dependency.get("name") for dependency in chart.dependencies}
            missing = [one["name"] for one in declared if one["name"] not in present]
            if missing:
                names = ", ".join(missing)
                raise ValueError(f"found in Chart.yaml, but missing in charts/ directory: {names}")
            rendered = chart.render(name="check", namespace="default")
    except helm_python.HelmError as error:
        raise ValueError(str(error)) from error
    return "".join(
        f"---\n# Source: {template}\n{document.strip()}\n"
        for template, text in sorted(rendered.items())
        if not template.endswith("NOTES.txt")
        for document in _SEPARATOR.split(text)
        if document.strip()
    )


def main(folder: str) -> int:
    """Print the rendered chart, or why there is none; return the exit code."""
    try:
        sys.stdout.write(render(folder))
    except ValueError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]))
