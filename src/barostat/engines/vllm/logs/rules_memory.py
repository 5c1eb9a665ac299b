"""Lines that mean: some memory ran out. The host's, /dev/shm, the card's, or the KV pool's."""

from __future__ import annotations

from barostat.engines.vllm.logs.rule import Rule, rule

_ANOTHER_KILLER = (
    r"\b0 Workers \(tasks",
    "common causes",
    "potential root causes",
    "[Pp]lease ignore",
    "This may be (?:due|because)",
    # the same list, its beginning on the line before
    r"\(1\) [Tt]he process (?:is|was) killed",
    r"(?i:send(?:ing)?|sent|escalat\w*|with|using)(?: signal)? SIGKILL",
    "GPU memory",
    r"\b(?:CUDA|HIP) (?:out of memory|error)",
    "NVRM",
)

# The host comes before the card: ray's OutOfMemoryError and torch's CPU allocator say "memory" too.
MEMORY_RULES: tuple[Rule, ...] = (
    rule(
        "host_oom",
        (
            "emory",
            "illed",
            "oom_kill",
            "oom-kill",
            "bad_alloc",
            "died due to",
        ),
        (
            r"ray\.exceptions\.OutOfMemoryError",
            "node running low on memory",
            "exceeds the memory usage threshold",
            "Ray killed this worker",
            "[Oo]ut of memory: Kill",
            "Memory cgroup out of memory",
            "OOMKilled",
            r"\boom[-_]kill|\bOOM Killed\b",
            "DefaultCPUAllocator: (?:can't|not enough)",
            "std::bad_alloc",
            r"^(?:[a-z_]\w*\.)*(?:_Array)?MemoryError\b(?!.*(?:CUDA|HIP))",
            "Cannot allocate memory",
            "killed due to memory pressure",
            # of a compiler: nvcc, gcc, clang, and what they say where they are refused memory
            r"'\w+' died due to signal 9\b|\bld terminated with signal 9\b|Killed signal terminated program",
            r"internal compiler error: Killed\b|unable to execute command: Killed\b",
            r"LLVM ERROR: out of memory|\b(?:cc1(?:plus)?|as|ld): out of memory|ptxas fatal\s{0,4}: Memory allocation failure",
            # the kubelet's events, where a description of the pod was pasted beside its log
            "The node was low on resource: memory",
            r"The node had condition: \[MemoryPressure\]",
        ),
        "warning",
        unless=_ANOTHER_KILLER,
    ),
    # killed, and by whom is not told: of one that had been told to stop it says nothing
    rule(
        "host_oom",
        (
            "illed",
            "SIGKILL",
            "137",
            "-9",
            "9/KILL",
        ),
        (
            r"\bSIGKILL\b",
            r"[Ss]ignal 9\b",
            r"exit(?:ed)?[ _-]?(?:with )?(?:exit )?(?:code|status)?[ :=]*\(?(?:137|-9)\b",
            r"^(?:.*: line \d+: +\d+ )?Killed\b(?! by user)",
            # behind a progress bar, which ends no line of its own
            r"(?:it/s|s/it|\?it/s)\]\s*Killed$",
            # the words of zsh and of bash for one of their jobs, and of Go for a child
            r"^\w+: killed {2,}\S",
            r"^\[\d+\] *[+-]? +(?:\d+ )?[Kk]illed {2,}\S",
            r"\bsignal: killed\b",
            "code=killed, status=9/KILL",
        ),
        "warning",
        weak=True,
        unless=_ANOTHER_KILLER,
    ),
    rule(
        "fd_limit",
        (
            "ulimit",
            "open files",
        ),
        (
            r"Found ulimit of (?P<limit>\d{1,4}) and failed",
            r"(?<!`OSError: \[Errno 24\] )Too many open files",
        ),
        "any",
        says="nothing",
    ),
    rule(
        "shm_too_small",
        (
            "shm",
            "hared memory",
            "Bus error",
            "SIGBUS",
            "shared_memory",
            "rror: unable to write",
            "(-7)",
            "135",
        ),
        (
            "Insufficient space in /dev/shm",
            r"(?:/dev/shm|shm\b|shared memory)(?!.*out of resource).*No space left on device",
            "No space left on device.*(?:/dev/shm|shm)",
            "unable to write to file </torch_",
            r"\bBus error\b",
            r"\bSIGBUS\b",
            "unable to (?:open|resize|mmap|write to|allocate) shared memory",
            "failed to (?:extend|create|allocate) (?:/dev/shm|shared memory)",
            "Error while creating shared memory segment",
            "insufficient shared memory",
            r"exit ?code[ :=]*(?:-7|135)\b",
            "/dev/shm (?:is )?too small",
        ),
        "warning",
        unless=(
            "leaked shared_memory",
            "is using /tmp instead of /dev/shm",
            "fall(?:ing)? ?back",
        ),
    ),
    rule(
        "gpu_oom_startup",
        (
            "ree memory on device",
            "held weights on device",
            "emory profiling",
        ),
        (
            (
                r"Free memory on device(?: \S+)? \((?P<free>[\d.]+)/(?P<total>[\d.]+) GiB\) on startup is less than desired"
                r"(?: GPU memory utilization \((?P<util>[\d.]+), (?P<want>[\d.]+) GiB\))?"
            ),
            r"Free memory on device.{0,80}(?:less than|exceed)",
            r"Externally held weights on device.{0,60}exceed",
            "Error in memory profiling",
        ),
        starting=True,
    ),
    rule(
        "gpu_oom",
        (
            "ut of memory",
            "OutOfMemory",
            "ALLOC_FAILED",
            "OUT_OF",
            "MemoryAllocation",
            "OOM",
            "Tried to allocate",
            "NV_ERR_NO_MEMORY",
        ),
        (
            r"(?P<api>CUDA|HIP|XPU|NPU|GPU|ROCm|Cuda|hip|cuda)\b[ \w']{0,20}:? ?'?out of memory",
            r"(?:torch\S*\.)?OutOfMemoryError",
            r"Cuda error \S+:\d+ 'out of memory'",
            "hipErrorOutOfMemory",
            "cudaErrorMemoryAllocation",
            "(?:CUDA|HIP)_ERROR_OUT_OF_MEMORY",
            "(?:CUBLAS|HIPBLAS|CUDNN|CUSPARSE|CUSOLVER)_STATUS_ALLOC_FAILED",
            "UR_RESULT_ERROR_OUT_OF",
            # of ROCm's resources it is memory where it says that none is left
            r"HSA_STATUS_ERROR_OUT_OF_RESOURCES.{0,300}Available Free mem : \d{1,2} MB",
            r"Tried to allocate (?P<amount>[\d.]+ ?[KMGT]i?B)",
            r"\((?:CUDA|HIP|GPU|ROCm|VRAM)[^()]{0,12}OOM\b[^()]{0,40}\)",
            r"^(?:CUDA|HIP) OOM\b",
        ),
        "warning",
        unless=(
            "NVRM",
            "NV_ERR_NO_MEMORY",
            r"ray\.exceptions",
            "DefaultCPUAllocator",
            "to avoid (?:a |an )?(?:CUDA |HIP )?(?:out of memory|OOM)",
            "(?:may|might|could|can) (?:cause|lead|result|run)",
            "AutoTuner",
            "[Aa]utotun",
            "fall(?:ing)? ?back",
        ),
    ),
    rule(
        "no_cache_blocks",
        (
            "cache blocks",
            "KV cache memory",
            "Available memory on node",
            "blocks: 0",
        ),
        (
            "[Nn]o available memory for the cache blocks",
            # the CPU backend reserves host memory for its pool
            (
                "Available memory on node .{0,80}is less than (?:desired CPU memory|requested "
                "memory for kv)"
            ),
            r"Available KV cache memory: (?P<gib>-[\d.]+|0(?:\.0+)?) Gi?B",
            r"# (?:GPU|CUDA|cuda|rocm|ROCm|HIP|hip|xpu|XPU) blocks: 0\b",
        ),
        "any",
        starting=True,
    ),
    rule(
        "states_exceeded",
        (
            "exceeds",
            "not enough",
            "Not enough",
        ),
        (
            (
                r"max_num_seqs ?\(?=?(?P<seqs>\d+)\)? exceeds (?:the )?(?:number of )?available (?P<what>\w+) ?(?:cache )?(?:blocks"
                r"|states|slots)(?: \((?P<blocks>\d+)\))?"
            ),
            r"exceeds (?:the )?available (?:[Mm]amba|SSM) ?(?:cache )?(?:blocks|states|slots)",
            r"[Nn]ot enough (?:[Mm]amba|SSM|state|linear)[\w ]{0,20}(?:blocks|states|slots)",
        ),
        starting=True,
    ),
    rule(
        "model_too_long",
        (
            "max seq len",
            "KV cache is needed",
            "stored in KV cache",
            "Auto-fit",
            "auto-fit",
        ),
        (
            (
                r"max(?:imum)? seq(?:uence)? len(?:gth)? \((?P<maxlen>[\d,]+)\).{0,140}?(?:stored in "
                r"(?:the )?KV cache \((?P<cap>\d+)\)|KV cache is needed)"
            ),
            "To serve at least one request with the model",
            "KV cache is needed,? (?:which is larger than|but only)",
            "larger than the maximum number of tokens that can be stored in",
            "[Aa]uto-fit max_model_len failed",
        ),
        starting=True,
    ),
)
