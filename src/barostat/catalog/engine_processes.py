"""The names that an engine's processes have, as a kernel or a process list shows them (a kernel
keeps 15 characters).

Source: vLLM 0.6 to 0.33, set_process_title (`VLLM::EngineCore`, `VLLM::Worker_TP0`); PyTorch
`pt_main_thread`; Ray. The CUDA compiler's parts (`cicc`, `cudafe++`, `ptxas`) run on a card's node
while FlashInfer or Triton build kernels at an engine's start (vLLM issue 54237).
"""

from __future__ import annotations

import re

ENGINE_PROCESS = re.compile(
    r"vllm|python|\bray\b|EngineCor|Worker|pt_|^cicc$|^cudafe|^ptxas$", re.IGNORECASE
)
