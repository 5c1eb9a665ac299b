"""What is wrong with an image that cannot run: no card is there, something is missing, or things do not fit.

Source: torch.cuda and NVML errors, vLLM 0.33.0 platforms (device type) and ray_utils, Python's import machinery, containerd and Docker.
"""

from __future__ import annotations

import re
from typing import Literal

InstallFault = Literal["no-card", "missing", "misfit"]

_NO_CARD = re.compile(
    r"No CUDA GPUs are available|Failed to infer device type|NVMLError_(?:DriverNotLoaded|LibraryNotFound)|node has no GPU available"
    r"|libcuda\.so|could not select device driver"
)
_MISFIT = re.compile(r"does not match")
_MISSING = re.compile(
    r"No module named|[Pp]lease install|is not available|No such file or directory: '|non-zero exit status|C compiler|ot find nvcc"
    r"|nvcc\S*: (?:command )?not found|CUDA_HOME|executable file not found"
)


def install_fault_of(line: str) -> InstallFault:
    """The kind of what the line tells."""
    if _NO_CARD.search(line):
        return "no-card"
    return "missing" if _MISSING.search(line) and not _MISFIT.search(line) else "misfit"
