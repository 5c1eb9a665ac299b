"""`explain` answers what people have at hand: an exit code, a reason of Kubernetes, a message."""

from __future__ import annotations

import json

import pytest

from barostat.shells.cli.main import main


@pytest.mark.parametrize(
    ("asked", "first"),
    [
        ("137", "host-oom"),
        ("exit 137", "host-oom"),
        ("CUDA out of memory", "gpu-oom"),
        ("preempt", "kv-preemption-thrash"),
    ],
)
def test_a_word_of_a_message_lists_the_pages_that_describe_it(
    asked: str, first: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", asked]) == 0
    head, listed = capsys.readouterr().out.splitlines()[:2]
    assert head == f"No page has the name {asked!r}. Pages that describe it:"
    assert listed.split()[:2] == [first, "cause"]


def test_what_a_word_does_not_prove_stands_apart(capsys: pytest.CaptureFixture[str]) -> None:
    main(["explain", "137"])
    out = capsys.readouterr().out
    assert "  gpu-oom " not in out
    assert "It is not evidence for: gpu-oom, " in out


@pytest.mark.parametrize(
    ("asked", "head"),
    [
        ("OOMKilled", "oom-killed (symptom): "),
        ("CrashLoopBackOff", "crash-looping (symptom): "),
        ("No available memory for the cache blocks", "no-cache-blocks (symptom): "),
    ],
)
def test_one_page_that_describes_it_is_printed(
    asked: str, head: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", asked]) == 0
    assert capsys.readouterr().out.startswith(head)


def test_the_list_of_a_word_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "exit 137", "-o", "json"]) == 0
    pages = json.loads(capsys.readouterr().out)["pages"]
    assert [page["name"] for page in pages][:2] == ["host-oom", "oom-killed"]


def test_a_misspelled_name_stays_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "kv-preempton-thrash"]) == 2
    assert "did you mean kv-preemption-thrash" in capsys.readouterr().err
