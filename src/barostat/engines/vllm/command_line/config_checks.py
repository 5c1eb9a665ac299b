"""Problems of a command line for a vLLM version: arguments that do not exist, have no effect, or
switch a safeguard off.
"""

from __future__ import annotations

from collections.abc import Mapping

from barostat.catalog.settings.table import SETTINGS, canonical_name, known_flag
from barostat.catalog.vllm_behaviours import behaves
from barostat.core.config import ConfigValue
from barostat.core.version import EngineVersion
from barostat.engines.vllm.command_line.arguments import CommandLine


def declared_problems(
    line: CommandLine, declared: Mapping[str, ConfigValue], version: EngineVersion | None
) -> list[str]:
    """One sentence for each argument of the command line that this version refuses or ignores, and
    for each protection switched off.
    """
    problems: list[str] = []
    for name, setting in line.settings.items():
        flag = SETTINGS.get(canonical_name(name.partition(".")[0]))
        if flag is None or setting.loose:
            continue
        if known_flag(flag.name, version) == "absent":
            instead = f"; {flag.instead} replaces it" if flag.instead else ""
            when = (
                f"does not exist since vLLM {flag.gone}"
                if flag.gone and version and version.at_least(flag.gone)
                else f"needs vLLM >= {flag.since}"
            )
            problems.append(
                f"{flag.option} {when}: the engine (vLLM {version}) refuses to start with "
                f"it{instead}"
            )
        elif sentence := _does_nothing(flag.name, version):
            problems.append(sentence)
    prefix, chunked = declared.get("enable_prefix_caching"), declared.get("enable_chunked_prefill")
    if (
        prefix is not None
        and prefix.value is False
        and behaves("prefix-caching-default", version) is not False
    ):
        problems.append(
            f"prefix caching is switched off ({prefix.source}): recomputation after a "
            "preemption starts from nothing"
        )
    if (
        chunked is not None
        and chunked.value is False
        and behaves("chunked-prefill-default", version) is not False
    ):
        forced = behaves("chunked-prefill-forced", version)
        effect = (
            "this version ignores that for generative models"
            if forced
            else "a long prompt then stops every decode for its step"
        )
        problems.append(f"chunked prefill is switched off ({chunked.source}): {effect}")
    if "num_gpu_blocks_override" in declared:
        problems.append(
            f"{declared['num_gpu_blocks_override'].source} sets the KV pool by hand, "
            "regardless of the card's memory: it is meant for tests"
        )
    if "disable_log_stats" in declared and declared["disable_log_stats"].value is True:
        problems.append(
            "--disable-log-stats removes every vllm: metric and the statistics line: "
            "pressure cannot be seen"
        )
    return problems


def _does_nothing(name: str, version: EngineVersion | None) -> str:
    v1 = behaves("v1-default", version)
    if name == "swap_space" and behaves("swap-space-ignored", version):
        return (
            "--swap-space does nothing on the V1 engine: preempted requests are recomputed, "
            "never swapped"
        )
    if name == "num_gpu_blocks_override" or not v1:
        return ""
    if name in ("max_num_partial_prefills", "max_long_partial_prefills"):
        return (
            f"{SETTINGS[name].option} does nothing on the V1 engine: only the V0 scheduler read it"
        )
    if name in ("preemption_mode", "scheduler_delay_factor", "num_scheduler_steps"):
        return (
            f"{SETTINGS[name].option} is for the V0 engine: vLLM {version} falls back to V0 for "
            "it, or ignores it"
        )
    return ""
