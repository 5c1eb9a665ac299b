"""Findings allowed in their place."""

from __future__ import annotations

from barostat.io.manifests.read import document_of
from barostat.judge.manifest_check.check import Checked, check


def _checked(text: str) -> Checked:
    return check([document_of(text, "a.sh")])


def _names(checked: Checked) -> list[str]:
    return [one.rule for one in checked.findings]


SERVE = "vllm serve Qwen/Qwen3-8B --disable-log-stats"


def test_a_reason_allows_it_and_is_kept() -> None:
    for text in (
        f"{SERVE}  # barostat: ignore[stats-switched-off] a benchmark\n",
        f"# barostat: ignore[stats-switched-off] a benchmark\n\n# more\n{SERVE}\n",
        (
            "#!/bin/sh\n# barostat: ignore-file[stats-switched-off] a "
            f"benchmark\necho\necho\n{SERVE}\n"
        ),
    ):
        checked = _checked(text)
        assert _names(checked) == []
        assert [reason for _, reason in checked.suppressed] == ["a benchmark"]


def test_without_a_reason_nothing_is_allowed() -> None:
    assert sorted(_names(_checked(f"{SERVE}  # barostat: ignore[stats-switched-off]\n"))) == [
        "stats-switched-off",
        "suppression-without-reason",
    ]


def test_what_allows_nothing_is_found() -> None:
    checked = _checked("vllm serve x/y  # barostat: ignore[stats-switched-off, no-such-rule] why\n")
    assert _names(checked) == ["unused-suppression", "unused-suppression"]
    assert any("no rule is named no-such-rule" in one.message for one in checked.findings)


def test_a_pedants_rule_that_is_allowed_is_not_called_unused_for_others() -> None:
    assert (
        _names(_checked("vllm serve x/y  # barostat: ignore[no-max-num-seqs] sized elsewhere\n"))
        == []
    )


def test_another_rule_or_line_is_not_allowed() -> None:
    text = (
        "# barostat: ignore[stats-switched-off] here\nvllm serve x/y "
        f"--disable-log-stats\n{SERVE}\n"
    )
    assert _names(_checked(text)) == ["stats-switched-off"]


def test_what_allows_nothing_in_values_may_allow_what_they_render_to() -> None:
    allowed = "# barostat: ignore[floating-tag{}] a scratch cluster\n"
    values = f"image:\n  repository: vllm/vllm-openai\n  tag: latest  {allowed}"

    def told(text: str) -> list[str]:
        return [
            one.message
            for one in check([document_of(text, "values-prod.yaml")]).findings
            if one.rule == "unused-suppression"
        ]

    assert told(values.format("")) == []
    assert told(values.format(", no-such-rule")) == [
        "unused suppression: no rule is named no-such-rule"
    ]
    for head in (
        "kind: Pod\n",
        "apiVersion: v1\n",
        "groups: []\n",
        "services: {a: {image: x:1}}\n",
    ):
        assert told(head + allowed.format("")) == [
            "unused suppression: floating-tag finds nothing here any more"
        ]
