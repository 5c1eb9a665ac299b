"""Scripts as pods start vLLM with them, and what their servers are really given: each is run under
a shell with a stub in vLLM's place.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

KEPT = Path(__file__).parent.parent / "data" / "shell" / "pods.txt"
RECORD = """#!/bin/sh
{ printf '%s\\0' "<" "${0##*/}" "$@" ">A=${A-}" "CUDA=${CUDA_VISIBLE_DEVICES-}" "KV=${VLLM_CPU_KVCACHE_SPACE-}" ">>"; } >>"$RECORDED"
"""
LEAVE = """#!/bin/sh
echo x >>"$RECORDED.waits"
[ "$(wc -l <"$RECORDED.waits")" -gt 2 ] && kill -TERM 0
exit 0
"""
PASS_ON = """#!/bin/sh
while [ $# -gt 0 ]; do case "$1" in vllm|python*) exec "$@";; esac; shift; done
"""
STUBS = {
    **dict.fromkeys(("vllm", "python", "python3"), RECORD),
    "sleep": LEAVE,
    "curl": "#!/bin/sh\n",
}
STUBS |= {"time": '#!/bin/sh\nexec "$@"\n'}
STUBS |= dict.fromkeys(("numactl", "gosu", "tini", "mywrapper"), PASS_ON)


@dataclass(frozen=True, slots=True)
class Script:
    """One script and the environments that it is run in."""

    name: str
    text: str
    environments: tuple[tuple[tuple[str, str], ...], ...] = ((),)


@dataclass(frozen=True, slots=True)
class Start:
    """One start of a server: the words that it was given, and what its environment held."""

    words: tuple[str, ...]
    environment: tuple[str, ...]

    @property
    def serves(self) -> bool:
        """True for a server, False for `vllm --version`."""
        return ("--help" not in self.words and self.words[1:2] == ("serve",)) or any(
            word.startswith("vllm.entrypoints") for word in self.words
        )


def kept_scripts() -> list[Script]:
    """Those written by hand: `%% name | A=1 B=2 ; A=3`, then the text."""
    found = []
    for part in re.split(r"^%% ", KEPT.read_text(), flags=re.MULTILINE)[1:]:
        head, _, text = part.partition("\n")
        name, _, told = head.partition(" | ")
        found.append(
            Script(
                name,
                text.removesuffix("\n"),
                tuple(_variables(one) for one in told.split(" ; ")) if told else ((),),
            )
        )
    return found


def _variables(told: str) -> tuple[tuple[str, str], ...]:
    return tuple(
        (name, value.strip()) for name, value in re.findall(r"(\w+)=((?:(?! \w+=).)*)", told)
    )


def made_scripts(count: int, seed: int = 7) -> Iterator[Script]:
    """So many more, put together by chance from what such scripts are made of."""
    dice = random.Random(seed)
    for number in range(count):
        flags = _flags(dice)
        gap = dice.choice([" ", " \\\n  ", "  ", " \\\n"])
        program = dice.choice(
            ["vllm serve", "vllm serve", "python3 -m vllm.entrypoints.openai.api_server --model"]
        )
        lead = dice.choice(
            [
                "",
                "",
                "exec ",
                "A=1 ",
                "env A=2 ",
                "nohup ",
                "numactl -N 0 ",
                "echo ",
                "timeout 9 ",
                "time ",
                "VLLM_CPU_KVCACHE_SPACE=4 ",
            ]
        )
        model = dice.choice(["m", '"$MODEL"', "org/m", "${MODEL:-org/m}", "'m'"])
        command = (
            lead
            + gap.join([program + " " + model, *flags])
            + dice.choice(
                [
                    "",
                    "",
                    " 2>&1 | tee log",
                    " >log",
                    ">log",
                    " &\nwait $!",
                    " || exit 1",
                    "  # --max-num-seqs 99",
                    " <<E\nx\nE",
                    " | cat\n",
                    ";",
                    " && true",
                ]
            )
        )
        text = dice.choice(_AROUND).replace("@", command)
        before = "".join(dice.choice(_BEFORE) for _ in range(dice.randrange(3)))
        values = (
            ("MODEL", "org/x"),
            ("EXTRA", dice.choice(["", "--port 81", "--max-num-seqs 77"])),
            ("SEQS", "12"),
        )
        yield Script(
            f"made {number}", before + text + dice.choice(["", "\n", "\necho ended\n"]), (values,)
        )


_AROUND = [
    "@", "@", "@", "if true; then\n@\nfi", "for i in 1 2; do\n@\ndone", "{ @\n}", "(@\n)", "run() {\n@\n}\nrun",
    "case x in\nx) @\n;;\nesac",
    "while true; do\n@\nsleep 1; done",
    "sh -c '@'", "if false; then vllm serve old; else\n@\nfi", "true &&\n@", "[ -n \"$MODEL\" ] && @",
]  # fmt: skip
_BEFORE = [
    "set -e\n", "# vllm serve z --max-num-seqs 5\n", "export A=3 HF_HOME='/a b'\n",
    "cat >c.json <<'EOF'\n{\"a\": 'b', \"c`\n'}\nEOF\n", "N=`echo 5`\n",
    "N=$(echo \"5)\" | tr -d ')')\n", "trap 'echo ended' EXIT\n", "SEQS=24; PORT=81\n",
    "EXTRA=\"--seed 3 --max-num-seqs 6\"\n", "until curl x; do sleep 1; done\n",
    "f() { echo \"$1\"; }\n", "echo vllm serve starts\n", "set -- --max-num-seqs 3\n", "ulimit -n 100 2>/dev/null; cd .\n",
    "export VLLM_CPU_KVCACHE_SPACE=4\n",
]  # fmt: skip


def _flags(dice: random.Random) -> list[str]:
    pool = [
        "--max-num-seqs 8", "--max-num-seqs=8", "--max_num_seqs '8'", "--max-num-seqs $SEQS", '--max-num-seqs="${SEQS:-8}"',
        "--port 80", "--port=$PORT",
        "--max-model-len 4096", "--max-model-len `echo 9`", "--enforce-eager", "--no-enforce-eager",
        "--served-model-name 'a b' c", '--served-model-name "x\\"y"',
        "$EXTRA", '"$@"', "$(echo --seed 1)", "--swap-space 4", "--speculative-config '{\"a\": 1}'",
        "--gpu-memory-utilization 0.9", "--seed $((1+2))",
        "${EXTRA:+--seed 4}", "--max-num-seqs \\\n 8",
    ]  # fmt: skip
    return dice.sample(pool, dice.randrange(5))


class Runner:
    """Runs scripts in a folder of its own; afterwards the folder is as empty as before."""

    def __init__(self, folder: Path) -> None:
        self._stubs, self._work = folder / "bin", folder / "work"
        self._stubs.mkdir()
        for name, text in STUBS.items():
            (self._stubs / name).write_text(text)
            (self._stubs / name).chmod(0o755)
        self._recorded = folder / "argv"

    def run(
        self, elements: Sequence[str], environment: Sequence[tuple[str, str]]
    ) -> tuple[list[Start], dict[str, str]]:
        """The servers that were started, in a fixed order, and the files that the script left with
        what it printed.
        """
        self._work.mkdir()
        env = {
            "PATH": f"{self._stubs}:{os.environ['PATH']}",
            "RECORDED": str(self._recorded),
            **dict(environment),
        }
        with subprocess.Popen(
            elements,
            cwd=self._work,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:
            printed, _ = process.communicate(timeout=20)
        left = {path.name: path.read_text(errors="replace") for path in self._work.iterdir()} | {
            "(printed)": printed.decode(errors="replace")
        }
        starts = _starts(self._recorded.read_text()) if self._recorded.exists() else []
        shutil.rmtree(self._work)
        for path in (self._recorded, Path(f"{self._recorded}.waits")):
            path.unlink(missing_ok=True)
        return starts, left


def _starts(text: str) -> list[Start]:
    found = []
    for part in text.split("\0>>\0"):
        words = part.split("\0")
        if len(words) > 3:
            found.append(Start(tuple(words[1:-3]), tuple(words[-3:])))
    return sorted(found, key=lambda start: (start.words, start.environment))


def without_flag(
    words: Sequence[str], spellings: Sequence[str], *, switch: bool = False
) -> tuple[list[str], list[str]]:
    """The words without one argument, and its values in order, as argparse takes them: this is the
    judge, and no code of ours.
    """
    rest, values, index = [], [], 0
    while index < len(words):
        word = words[index]
        head, equals, value = word.partition("=")
        if head not in spellings:
            rest.append(word)
        elif switch:
            values.append(str(not head.startswith(("--no-", "--no_"))))
        elif equals:
            values.append(value)
        else:
            taken = words[index + 1 : index + 2]
            values += taken
            index += len(taken)
        index += 1
    return rest, values
