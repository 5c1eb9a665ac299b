"""A configuration file that vLLM is given in a form in which it does not read it."""

from __future__ import annotations

from barostat.io.manifests.read import document_of
from barostat.judge.manifest_check.check import check


def told(command: str) -> list[tuple[str, str, int]]:
    found = check([document_of(command, "run.sh")]).findings
    return [
        (one.rule, one.severity, one.place.column)
        for one in found
        if one.rule == "flag-does-nothing"
    ]


def test_the_file_is_read_where_config_is_a_word_of_its_own() -> None:
    assert told("vllm serve a/b --config /etc/vllm.yaml") == []
    assert told("vllm serve a/b --config=/etc/vllm.yaml") == [("flag-does-nothing", "error", 16)]
