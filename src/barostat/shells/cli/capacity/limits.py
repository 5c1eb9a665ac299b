"""`barostat limits show|diff|validate`: read a limits file, compare two in the words of a review,
check one.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from barostat.shells.reports.json_text import json_text

EPILOG = """\
examples:
  barostat limits validate limits.yaml             # every unknown key and impossible value, with line and column
  barostat limits show limits.yaml                 # the limits and why each is what it is
  barostat limits diff old.yaml new.yaml           # what a request may do now that it might not before
  barostat limits schema                           # the JSON Schema; with --crd the CustomResourceDefinition

exit codes: 0 valid, or nothing differs; 1 they differ; 2 not a valid limits file
"""

_PIPED = Path("-")


def add_parser(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser(
        "limits",
        help="show, validate and compare a limits file",
        description="A ServingLimits file: what a model is allowed to do under load.",
        epilog=EPILOG,
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, files, text in (
        ("show", 1, "show the limits"),
        ("validate", 1, "check the file"),
        ("diff", 2, "compare two files"),
    ):
        action = actions.add_parser(name, help=text)
        action.add_argument(
            "files",
            nargs=files,
            metavar="FILE",
            type=Path,
            help="a limits file; - is what is piped in",
        )
        action.add_argument(
            "-o", "--output", choices=("table", "json", "yaml", "md"), default="table"
        )
        action.add_argument("--exit-zero", action="store_true", help="exit 0 also when they differ")
        action.set_defaults(run=run)
    schema = actions.add_parser("schema", help="print the JSON Schema or the CRD")
    schema.add_argument("--crd", action="store_true", help="the CustomResourceDefinition, as YAML")
    schema.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Do the action; answer its exit code."""
    from barostat.io.input_files import limits_file
    from barostat.io.input_files.piped import NAME, piped_in

    if arguments.action == "schema":
        return _schema(crd=arguments.crd)
    found = [
        limits_file.read(piped_in(), NAME) if path == _PIPED else limits_file.load(path)
        for path in arguments.files
    ]
    if arguments.action == "validate":
        file = NAME if arguments.files[0] == _PIPED else str(arguments.files[0])
        print(
            f"{file}: valid"
            if arguments.output == "table"
            else json_text({"valid": True, "file": file}, None)
        )
        return 0
    if arguments.action == "show":
        document = limits_file.as_document(found[0])
        print(
            json_text(document)
            if arguments.output == "json"
            else _shown(document)
            if arguments.output != "yaml"
            else limits_file.render(found[0])
        )
        return 0
    from barostat.judge.sizing.limits_diff import differences

    changes = differences(*found)
    if arguments.output == "json":
        print(
            json_text(
                {
                    "kind": "LimitsDiff",
                    "changes": [
                        {
                            "path": c.path,
                            "from": c.before,
                            "to": c.after,
                            "says": c.says,
                            "looser": c.looser,
                        }
                        for c in changes
                    ],
                }
            )
        )
    else:
        lead = "* " if arguments.output == "md" else ""
        print(
            "\n".join(
                f"{lead}{change.path}: {change.before} -> {change.after}: {change.says}"
                for change in changes
            )
            or "no difference"
        )
    return 0 if not changes or arguments.exit_zero else 1


def _schema(*, crd: bool) -> int:
    from barostat.io.input_files import limits_schema

    if crd:
        import yaml

        print(yaml.safe_dump(limits_schema.crd(), sort_keys=False).rstrip())
    else:
        print(json_text(limits_schema.json_schema()))
    return 0


def _shown(document: dict[str, Any]) -> str:
    """Every limit with its reason."""
    from barostat.shells.reports.wrapped import reasons, terminal_width

    because = document.get("because", {})
    lines = []
    for section, values in document["spec"].items():
        if not isinstance(values, dict):
            lines.append(f"{section}: {values}")
            continue
        rows = (
            (f"{section}.{name}", str(value), because.get(f"{section}.{name}", ""))
            for name, value in values.items()
        )
        lines += reasons(rows, terminal_width())
    return "\n".join(lines)
