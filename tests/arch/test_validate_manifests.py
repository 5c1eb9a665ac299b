"""The Job of deploy/validate: its flags are those of the verb, its limits can be proved, and it has
no rights.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import yaml

from barostat.io.input_files.limits_file import load
from barostat.judge.load_test.traffic import allowed
from barostat.shells.cli.prevent import validate

ROOM = Path(__file__).resolve().parents[2] / "deploy" / "validate"


def test_the_job_is_what_the_verb_takes_and_may_do_nothing_else() -> None:
    job = yaml.safe_load((ROOM / "job.yaml").read_text(encoding="utf-8"))
    kustomization = yaml.safe_load((ROOM / "kustomization.yaml").read_text(encoding="utf-8"))
    pod = job["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    parser = argparse.ArgumentParser()
    validate.add_parser(parser.add_subparsers())
    asked = parser.parse_args(
        ["validate", *(word for word in container["args"] if word != "--quiet")]
    )
    assert asked.limits.parent == Path(container["volumeMounts"][0]["mountPath"])
    assert asked.output == "certificate"
    assert allowed(load(ROOM / "limits.yaml"), "limits.yaml").at_once == 32
    assert job["spec"]["backoffLimit"] == 0
    assert pod["automountServiceAccountToken"] is False
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    (made,) = kustomization["configMapGenerator"]
    assert {volume["configMap"]["name"] for volume in pod["volumes"]} == {made["name"]}
