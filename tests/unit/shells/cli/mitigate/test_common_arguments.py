"""The verbs that change a cluster, as far as no cluster is needed."""

from __future__ import annotations

import subprocess
import sys

import pytest

from barostat.shells.cli.main import main


@pytest.mark.parametrize("other", [["--dry-run"], ["--autonomy", "observe"]])
def test_a_yes_to_what_is_not_carried_out_is_a_usage_error(other: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mitigate", "deploy/vllm", "--yes", *other]) == 2
    assert capsys.readouterr().err == (
        "barostat: --yes: it answers for a plan that is carried out, which --dry-run and --autonomy observe do not\n"
    )


def test_a_remedy_goes_on_where_nobody_reads_what_it_says() -> None:
    code = "from barostat.shells.cli.mitigate.common_arguments import print_progress, print_result\n"
    code += "for _ in range(20_000): print_progress('on'); print_result('the result')\nraise SystemExit(7)"
    done = subprocess.run(
        ["bash", "-c", '"$0" -c "$1" 2>&1 | head -1; exit "${PIPESTATUS[0]}"', sys.executable, code], capture_output=True, text=True
    )
    assert done.returncode == 7
    assert done.stdout in ("on\n", "the result\n")
