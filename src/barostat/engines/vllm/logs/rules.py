"""All rules in the order in which they are tried: the first that holds names the line."""

from __future__ import annotations

from barostat.engines.vllm.logs.rule import Rule, rule
from barostat.engines.vllm.logs.rules_memory import MEMORY_RULES
from barostat.engines.vllm.logs.rules_start import START_RULES

_LIFE: tuple[Rule, ...] = (
    rule(
        "ready",
        (
            "startup complete",
            "Uvicorn running",
        ),
        (
            "Application startup complete",
            "Uvicorn running on",
        ),
        "any",
        says="nothing",
    ),
    rule(
        "shutdown",
        (
            "SIG",
            "hutdown",
            "hutting down",
            "KeyboardInterrupt",
            "eceived signal",
            "timed out. ",
        ),
        (
            r"(?i:received|got|caught|trigger\w*)\b.{0,40}\bSIG(?:TERM|INT)\b",
            r"\bSIG(?:TERM|INT)\b (?:signal )?received",
            r"[Rr]eceived signal (?:15|2)\b",
            r"State 'stop-\w+' timed out",
            r"\[shutdown\] EngineCore: start mode",
            "^KeyboardInterrupt",
            "Received KeyboardInterrupt",
            "Gracefully stopping",
        ),
        "any",
        unless=(
            "common causes",
            "potential root causes",
            "[Pp]lease ignore",
            "This may be (?:due|because)",
        ),
        says="no failure",
    ),
    rule(
        "shutdown",
        (
            "hutting down",
            "hutdown complete",
            "Finished server",
        ),
        (
            r"^Shutting down(?: FastAPI HTTP server)?\.?$",
            "^Application shutdown complete",
            "^Finished server process",
        ),
        "any",
        weak=True,
        says="no failure",
    ),
)

_NCCL_TALKS = r"^\S+:\d+:\d+ \[\d+\] .{0,80}?\b(?:NCCL|RCCL) (?:INFO|TRACE)\b"
"""What NCCL_DEBUG=INFO prints, names of settings with TIMEOUT and ERROR in them too."""

_DEVICE: tuple[Rule, ...] = (
    rule(
        "gpu_fault",
        (
            "ECC",
            "NVLink error",
            "cudaErrorNvlink",
            "CUDA_ERROR_NVLINK",
            "bus",
            "GPU is lost",
            "not yet initialized",
            "802",
            "NOT_READY",
            "ardware",
            "fabric",
            "Fabric",
            "device handle",
            "Slowdown",
        ),
        (
            "uncorrectable (?:ECC|NVLink) error",
            "NvlinkUncorrectable|NVLINK_UNCORRECTABLE",
            "ECCUncorrectable",
            "ECCNotCorrectable",
            "fallen off the bus",
            "GPU is lost",
            "GPU_IS_LOST",
            "(?:[Ee]rror:? ?802|system not yet initialized|SYSTEM_NOT_READY|SystemNotReady)",
            "[Ff]abric ?[Mm]anager.{0,60}(?:not|fail|error)",
            "Unable to determine the device handle",
            "NVML_ERROR_GPU_IS_LOST",
            "hardware stack error",
            # nvidia-smi -q; of a healthy card it says Not Active
            r"\b(?:HW|HW Thermal|SW Thermal|HW Power Brake) Slowdown\s*: Active",
        ),
        "warning",
    ),
    rule(
        "gpu_program_error",
        (
            "CUDA",
            "HIP",
            "cuda",
            "hip",
            "assert",
            "illegal",
            "misaligned",
            "access fault",
            "HSA_",
            "GPU Hang",
            "CUBLAS",
        ),
        (
            "illegal memory access",
            "device-side assert",
            "(?i:unspecified launch failure)",
            "illegal instruction was encountered",
            "misaligned address",
            "cudaErrorIllegalAddress",
            "cudaErrorLaunchFailure",
            "hipErrorIllegalAddress",
            "hipErrorLaunchFailure",
            "Memory access fault by GPU",
            "HSA_STATUS_ERROR",
            "GPU Hang",
            "CUBLAS_STATUS_(?:EXECUTION_FAILED|INTERNAL_ERROR|NOT_INITIALIZED)",
            (
                "(?:CUDA|HIP) error: (?:invalid (?:argument|configuration|resource "
                "handle)|operation not "
                "(?:permitted|supported)|unknown error|the launch timed out)"
            ),
            r"cudaErrorInvalid(?!DeviceFunction)\w+",
        ),
    ),
    rule(
        "collective_timeout",
        (
            "collective",
            "NCCL",
            "nccl",
            "RCCL",
            "imed out",
            "imeout",
            "endezvous",
            "clients joined",
            "onnectFullMesh",
        ),
        (
            "[Cc]ollective operation timeout",
            "collective timeout",
            "Timeout at NCCL work",
            "NCCL operations have failed or timed out",
            (
                r"(?:NCCL|RCCL|nccl|rccl|Gloo|gloo|TCPStore|[Rr]endezvous|process group|init_process_group|all_?reduce"
                r"|[Bb]arrier)\b.{0,120}(?:[Tt]imed? ?out|TIMEOUT)"
            ),
            r"client socket has timed out|waitForInput: .{0,200}timed out|\[c10d\].{0,160}timed out",
            r"[Tt]imed out .{0,60}(?:process group|clients|rendezvous|NCCL|(?:TCP|key-value|c10d) ?[Ss]tore|\branks)",
            "RendezvousTimeoutError",
            # the all-to-all of wide expert parallelism
            r"\bDeepEP\b.{0,60}timeout",
            "connectFullMesh failed",
        ),
        "warning",
        unless=(_NCCL_TALKS,),
    ),
    rule(
        "collective_timeout",
        (
            "NCCL",
            "nccl",
            "RCCL",
            "DistBackendError",
            "DistStoreError",
            "DistNetworkError",
            "rccl",
            "NET/IB",
            "oneCCL",
            "rror: [",
            "peer access",
            "P2PStatus",
        ),
        (
            r"\b(?:NCCL|RCCL) (?:WARN|ERROR|error|Error)\b",
            r"nccl(?:Unhandled\w+|System|Internal|Remote)Error",
            "Dist(?:Backend|Store|Network)Error",
            "peer access is not supported between these two devices",
            r"nvmlDeviceGetP2PStatus\(.{0,80}\) failed",
            "oneCCL.{0,40}(?:error|fail)",
            # InfiniBand's completion with an error, as NCCL and RCCL print it
            r"NET/IB ?: Got completion .{0,120}\bstatus=[1-9]",
            r"gloo/transport/.{0,120}(?:by peer|refused|unreachable|[Bb]roken pipe|No route to host)",
        ),
        weak=True,
        unless=(
            "Watchdog",
            _NCCL_TALKS,
            # NCCL says what CUDA told it: a later rule names that
            (
                "driver version is insufficient|no kernel image|unsupported toolchain|named "
                "symbol not found|Duplicate GPU detected"
            ),
            "EADDRINUSE|[Aa]ddress already in use",
            "NCCL WARN (?:NET/IB : No device|MSCCL|Missing)",
            "iommu",
            "NUMA",
            # a caller's mistake, no peer's
            "invalid usage|ncclInvalid",
        ),
    ),
    rule(
        "rpc_timeout",
        (
            "imed out",
            "imeout",
        ),
        (
            r"RPC call to (?P<method>\S+) timed out",
            "Engine iteration timed out",
            r"(?:execute_model|sample_tokens|collective_rpc|step)\b.{0,60}timed out",
            (
                "[Tt]imed out (?:while )?waiting for (?:a )?(?:response|reply|result)s? from "
                "(?:the )?(?:worker|executor)"
            ),
        ),
    ),
    rule(
        "rpc_timeout",
        ("block found in",),
        (r"No available (?:shared memory broadcast )?block found in (?P<seconds>\d+) ?s",),
        "any",
        weak=True,
    ),
)

_NOTICES: tuple[Rule, ...] = (
    rule(
        "requests_rejected",
        (
            "queue full",
            "cannot accept new requests",
            "token backlog",
        ),
        (
            "[Rr]equest queue full",
            "cannot accept new requests",
            "prefill token backlog limit",
        ),
        "any",
        says="no failure",
    ),
    rule(
        "swap_exhausted",
        ("Error: Aborted",),
        ("Aborted due to the lack of CPU swap space",),
    ),
    rule(
        "preempted_v0",
        ("preempted",),
        (
            (
                r"Sequence group (?P<rid>\S+) is preempted by (?P<mode>\S+) mode(?:.*(?:total_num_cumulative_preemption"
                r"|cumulative_preemption_cnt)=(?P<n>\d+))?"
            ),
        ),
        "any",
        says="no failure",
    ),
)

ENGINE_DEAD: Rule = rule(
    "engine_dead",
    (
        "Engine",
        "engine",
        "Worker",
        "worker",
        "died",
        "SEGV",
        "egmentation",
        "egfault",
        "core dumped",
        "Fatal Python",
        "ActorDied",
        "erminate called",
        "ackground loop",
    ),
    (
        "EngineCore encountered",
        "Engine(?:Core)?DeadError",
        "EngineCore failed to start",
        "[Ee]ngine core initialization failed",
        r"Engine core proc\w* \S+ died",
        r"(?:[Ww]orker|WorkerProc|process|actor|proc|core)\b.{0,80}\bdied\b",
        "WorkerProc initialization failed",
        "[Ff]atal signal from worker",
        "ActorDiedError",
        "RayActorError",
        "Engine loop is not running",
        "Background loop (?:has errored|is (?:stopped|not running))",
        "Engine process failed to start",
        "Engine background task failed",
        "MQLLMEngine is already dead",
        "Engine core exited unexpectedly",
        "engine core exited unexpectedly",
        "Timed out waiting for engine core",
        "SIGSEGV",
        "[Ss]egmentation fault",
        "Segfault encountered",
        "core dumped",
        "Fatal Python error",
        "terminate called after",
        "WorkerProc hit an exception",
        "Failed core proc",
    ),
    "warning",
)

RULES: tuple[Rule, ...] = (*_LIFE, *MEMORY_RULES, *_DEVICE, *START_RULES, ENGINE_DEAD, *_NOTICES)

NO_FAILURE = frozenset(rule.kind for rule in RULES if rule.says != "failure")
"""Kinds of lines that tell of no failure."""
SAYS_NOTHING = frozenset(rule.kind for rule in RULES if rule.says == "nothing")
"""Kinds of lines that do not tell why a start ended."""
