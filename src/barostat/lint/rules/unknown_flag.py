"""An argument that this version of vLLM does not have.

Meaning: the image's version has no such argument: it was removed, or it was added in a later
version. argparse refuses unknown arguments, so the server exits with status 2 before it loads
anything. For a floating tag (`latest`), the newest release counts.
Impact: the pod crash-loops. During a rollout the old pods keep serving; after a node failure none
is left.

Bad:

    docker run vllm/vllm-openai:v0.19.0 --model Qwen/Qwen3-8B --swap-space 4

Good:

    docker run vllm/vllm-openai:v0.19.0 --model Qwen/Qwen3-8B --kv-offloading-size 4

Fix: remove the argument or use its replacement, or run a version that has it.
Source: the argument parsers of the published wheels 0.6.6 to 0.33.0 (catalog/settings/).
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.catalog.settings.table import canonical_name, lacking
from barostat.catalog.vllm_versions import NEWEST_READ
from barostat.core.version import parse_version
from barostat.lint.edits import without_argument
from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule
from barostat.lint.rules._images import vllms_own

_NEWEST = parse_version(NEWEST_READ)


def judge(scene: Scene) -> Iterator[Found]:
    """Find arguments that the version lacks."""
    for engine in scene.engines:
        floats = engine.version is None and engine.floating and engine.own_image
        version = _NEWEST if floats else engine.version
        for name, argument in engine.arguments.items():
            absent = (
                lacking(canonical_name(name.partition(".")[0]), version)
                if version is not None
                else None
            )
            if absent is None:
                continue
            newest = floats and engine.image is not None and vllms_own(engine.image.text)
            shown = f"vLLM {version}" if not floats else "the newest vLLM, which this tag brings,"
            shown = shown if newest or not floats else "a new vLLM, which this tag may bring,"
            when = (
                f"was removed in {absent.gone}" if absent.gone else f"exists since {absent.since}"
            )
            replaced = f"; {absent.instead} replaces it" if absent.instead else ""
            yield Found(
                argument.place,
                f"{absent.option} {when}: {shown} refuses to start with it{replaced}",
                f"remove {absent.option}",
                without_argument(scene, argument),
                confidence="medium" if newest else "low" if floats else None,
            )


RULE = Rule("unknown-flag", "an argument that this version does not have", judge, "error")
