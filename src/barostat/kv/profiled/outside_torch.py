"""Memory of a GPU that PyTorch does not allocate: the context, NCCL, workspaces, and what the
driver keeps of tuned kernels.

Source: vLLM 0.19.0 to 0.33.0, Worker.determine_available_memory, MemorySnapshot.measure.
"""

from __future__ import annotations

from barostat.core.units import GIB, gib
from barostat.kv.architecture import Architecture
from barostat.kv.deployment import Deployment
from barostat.kv.estimate import Estimate
from barostat.kv.profiled.fitted import MemoryModel
from barostat.kv.profiled.rocm import pinned_bytes
from barostat.kv.quantization import WeightFormat

# Versions from which tensor-parallel ranks of linked cards keep an all-reduce workspace of about 2
# GiB.
_WORKSPACE_SINCE = "0.13.0"
# One GPU alone logs 0.14 GiB of non-torch memory with 0.11.0, 0.13 with 0.17.0, and 0.25 with
# 0.19.0 and later.
_MORE_CONTEXT_SINCE = "0.18.0"
# From here on ranks have met when the engine first looks at the memory, so that what RCCL takes is not
# in the difference: two MI300X log 0.8 GiB more left over with 0.9.2 than with 0.11.1. Source: vLLM
# 0.32.0, Worker.init_device.
_MET_BEFORE_SINCE = "0.11.1"
# Compute capability of the A100. Logs of V0 with four to sixteen of them say 0.9 to 2.15 GiB, with
# 3090 and 4090 on a bus 0.20 to 0.25.
_LINKED_AMPERE = 8.0


def non_torch(
    flags: Deployment, capability: float, constants: MemoryModel, *, unified: bool = False, switched: bool = True
) -> Estimate:  # fmt: skip
    """CUDA context, NCCL and all-reduce workspaces: little on one GPU, about 2 GiB on those that
    meet over a switch.

    `switched`: they do, if they are of a kind that can; bridged pairs and cards on a bus multicast
    nothing (two H200 NVL with 0.23.0 have 1.9 GiB more than others).

    Where the host shares the memory, what its processes take while the engine starts is counted
    here too: the engine asks the host's free memory before and after. Source: vLLM 0.32.0,
    MemorySnapshot.measure.
    """
    if unified:
        return Estimate(
            "non-torch",
            constants.host_growth_bytes,
            0.2 * GIB,
            6 * GIB,
            "context, and what the host's processes come to take",
        )
    if flags.rocm:
        return _on_amd(flags, constants)
    alone = flags.tp == 1 and flags.pp == 1
    linked = flags.tp > 1 and 9.0 <= capability < 11.0 and switched
    if flags.generation == "V0" and flags.tp > 1:  # it measures from before its ranks meet
        if linked or (capability == _LINKED_AMPERE and switched):
            return Estimate(
                "non-torch",
                constants.early_linked_bytes,
                0.1 * GIB,
                3.6 * GIB,
                "NCCL between linked GPUs",
            )
        return Estimate(
            "non-torch",
            constants.unlinked_bytes,
            0.05 * GIB,
            1.2 * GIB,
            "NCCL between GPUs without a fast link",
        )
    if linked and flags.version.before(_WORKSPACE_SINCE):
        return Estimate(
            "non-torch",
            constants.early_linked_bytes,
            0.1 * GIB,
            2.2 * GIB,
            "NCCL between linked GPUs, and what its links multicast by",
        )
    if flags.version.before(_MORE_CONTEXT_SINCE if alone else "0.12.0"):
        return Estimate(
            "non-torch",
            constants.early_bytes,
            0.02 * GIB,
            0.6 * GIB,
            f"small in versions before {_MORE_CONTEXT_SINCE}",
        )
    if linked and flags.version.at_least(_WORKSPACE_SINCE):
        return Estimate(
            "non-torch",
            constants.linked_bytes,
            0.5 * GIB,
            2.8 * GIB,
            "NCCL and all-reduce workspaces of linked GPUs",
        )
    if flags.tp > 1:
        high = 2.0 if capability >= 12.0 else 1.2
        return Estimate(
            "non-torch",
            constants.unlinked_bytes,
            0.05 * GIB,
            high * GIB,
            "NCCL between GPUs without a fast link",
        )
    if flags.pp > 1:
        return Estimate(
            "non-torch", 0.07 * GIB, 0.02 * GIB, 0.5 * GIB, "pipeline stages of one GPU each"
        )
    return Estimate(
        "non-torch", constants.single_bytes, 0.05 * GIB, 0.6 * GIB, "context and kernels of one GPU"
    )


def _on_amd(flags: Deployment, constants: MemoryModel) -> Estimate:
    """A HIP context and the libraries' handles; before 0.11.1 RCCL where ranks meet, too.

    Three logs of V0 on one Radeon state the part: 0.46, 0.53 and 0.62 GiB.
    """
    if flags.tp > 1 and flags.version.before(_MET_BEFORE_SINCE):
        return Estimate(
            "non-torch",
            constants.early_linked_bytes,
            0.4 * GIB,
            2.8 * GIB,
            "a HIP context, and RCCL between GPUs",
        )
    return Estimate(
        "non-torch",
        constants.amd_bytes,
        0.1 * GIB,
        1.2 * GIB,
        "a HIP context and the libraries' handles",
    )


def with_pinned(
    alone: Estimate, model: Architecture, flags: Deployment, form: WeightFormat
) -> Estimate:
    """Where padding of experts on AMD cards leaves memory with the allocator: that as well (see
    kv/profiled/rocm.py).
    """
    pinned = pinned_bytes(model, flags, form)
    if not pinned:
        return alone
    return Estimate(
        alone.name,
        alone.value + pinned,
        alone.low,
        alone.high + pinned,
        f"{alone.source}, and {gib(pinned)} that stay with the allocator once experts are padded",
    )


def with_delta_tuning(
    alone: Estimate,
    model: Architecture,
    flags: Deployment,
    capability: float,
    constants: MemoryModel,
) -> Estimate:
    """Where delta nets' kernels are tuned during the profile and load through tensor descriptors:
    what that leaves with the driver.

    On Hopper FlashInfer has the kernels, older cards have no descriptors, and since 0.20.0 they are
    off. Source: vLLM's pull requests 36599 and 38981, issue 36973 (3.42 GiB on an RTX 5090); a log
    of 0.18.1 on a GB10 lacks 3.3.
    """
    tuned = (
        flags.version.at_least("0.18.0")
        and flags.version.before("0.20.0")
        and flags.generation == "V1"
    )
    if not tuned or capability < 10.0 or not model.fields.has("linear_num_value_heads"):
        return alone
    extra = constants.delta_tuning_bytes
    source = (
        f"{alone.source}, and {gib(extra)} that the tuning of delta nets' kernels leaves "
        "behind before 0.20.0"
    )
    return Estimate(alone.name, alone.value + extra, alone.low, alone.high + extra, source)
