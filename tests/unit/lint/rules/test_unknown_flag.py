"""Arguments outside the catalogue of what matters for the cache that vLLM has no more, which
manifests still carry.
"""

from __future__ import annotations

import pytest
from tests.unit.catalog.settings.test_table_by_version import version

from barostat.catalog.settings.other_arguments import REMOVED
from barostat.catalog.settings.table import SETTINGS
from barostat.engines.vllm.command_line.arguments import parse
from barostat.engines.vllm.command_line.refused import refused_arguments
from barostat.io.manifests.read import document_of
from barostat.judge.manifest_check.check import check


def told(tag: str, *args: str) -> list[str]:
    text = f"docker run vllm/vllm-openai:{tag} --model a/b {' '.join(args)}"
    return [
        one.message
        for one in check([document_of(text, "run.sh")]).findings
        if one.rule == "unknown-flag"
    ]


@pytest.mark.parametrize(
    ("last", "first", "args"),
    [
        ("0.16.0", "0.17.0", ["--disable-log-requests"]),
        ("0.9.2", "0.10.0", ["--enable-reasoning"]),
        ("0.9.2", "0.10.0", ["--device", "cuda"]),
        ("0.11.2", "0.12.0", ["--guided_decoding_backend", "xgrammar"]),
        ("0.12.0", "0.13.0", ["--task=embed"]),
        ("0.8.2", "0.8.3", ["--speculative-model", "a/c"]),
    ],
)
def test_an_argument_is_refused_from_the_first_version_without_it(
    last: str, first: str, args: list[str]
) -> None:
    assert told(f"v{last}", *args) == []
    (message,) = told(f"v{first}", *args)
    option = args[0].partition("=")[0].replace("_", "-")
    assert message.startswith(
        f"{option} was removed in {first}: vLLM v{first} refuses to start with it"
    )
    line = parse(["--model", "a/b", *args])
    assert [
        one.because.partition(" does not")[0] for one in refused_arguments(line, version(first))
    ] == [option]


def test_what_replaced_it_is_said() -> None:
    (message,) = told("v0.30.0", "--disable-log-requests")
    assert message.endswith("; --no-enable-log-requests replaces it")


def test_no_argument_is_in_both_catalogues() -> None:
    assert not set(REMOVED) & set(SETTINGS)
