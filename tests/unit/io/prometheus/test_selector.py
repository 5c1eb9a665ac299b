"""What a person writes to choose, as PromQL has it."""

from __future__ import annotations

import re

import pytest

from barostat.core.errors import InputError
from barostat.io.prometheus.selector import matchers


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("", ""),
        ('namespace="x"', 'namespace="x"'),
        ('{namespace="x", pod=~"a-.*"}', 'namespace="x",pod=~"a-.*"'),
        ("app=vllm,tier!=test", 'app="vllm",tier!="test"'),
        ("app==vllm", 'app="vllm"'),
        ("a='x y',", 'a="x y"'),
        ('a="say \\"hi\\""', 'a="say \\"hi\\""'),
        (r'pod=~"a\\.b-\\d+"', r'pod=~"a\\.b-\\d+"'),
        (r"pod=~a\.b", r'pod=~"a\\.b"'),
        (r'pod=~"a\.b"', r'pod=~"a\\.b"'),
    ],
)
def test_matchers(given: str, written: str) -> None:
    assert matchers(given) == written


def test_namespace_and_targets_are_matchers_too() -> None:
    assert matchers("", "ns", ["deploy/vllm"]) == 'namespace="ns",pod=~"vllm-[a-z0-9]+-[a-z0-9]{5}"'
    assert matchers("", "", ["sts/a", "pod/b-0"]) == 'pod=~"a-[0-9]+|b-0"'
    assert matchers("", "", ["pod/a.b"]) == 'pod=~"a\\\\.b"'


@pytest.mark.parametrize(
    ("pod", "is_its"),
    [
        ("vllm-6d5f8b7c9-x2k4z", True),
        ("vllm-decode-0", False),
        ("vllm-0-1", False),
        ("vllm-decode-6d5f8b7c9-x2k4z", False),
    ],
)
def test_the_pods_of_a_deployment_are_not_those_of_a_statefulset_whose_name_is_longer(
    pod: str, is_its: bool
) -> None:
    pattern = re.fullmatch(r'pod=~"(.*)"', matchers("", "", ["deploy/vllm"]))
    assert pattern is not None
    assert (re.fullmatch(pattern[1], pod) is not None) is is_its


@pytest.mark.parametrize("given", ["namespace", "x y", "=1", 'a="b" c="d"', "a=~"])
def test_what_is_no_matcher_is_said(given: str) -> None:
    with pytest.raises(InputError, match="is no matcher"):
        matchers(given)


@pytest.mark.parametrize("target", ["http://x:8000", "svc/x", "vllm", "deploy/"])
def test_a_target_that_prometheus_cannot_know_is_said(target: str) -> None:
    with pytest.raises(InputError, match="deploy/NAME"):
        matchers("", "", [target])
