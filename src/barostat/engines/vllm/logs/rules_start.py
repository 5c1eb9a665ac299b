"""Log lines about failed starts: arguments, the port, the model, a setting."""

from __future__ import annotations

from barostat.engines.vllm.logs.rule import Rule, rule

_NAMED = (
    r"max_num_batched_tokens|max_num_seqs|gpu_memory_utilization|max_model_len|tensor[_ -]parallel|pipeline[_ -]parallel|data[_ -]parallel"
    r"|expert[_ -]parallel|world[_ ]size|kv_cache_dtype|kv cache dtype|lora_rank|rope_scaling|trust_remote_code"
    r"|distributed_executor_backend|swap_space|chat template|tool-call-parser|reasoning[_ -]parser"
)
"""Settings by names that an error of any type means them with."""
_DESCRIBED = (
    r"block_size|quantization|(?<![.\w])(?<!same )dtype|attention backend|speculative"
    r"|compilation[_ -]config|chunked prefill|prefix caching"
)
"""Settings in words that torch's and Python's own errors use of tensors and of code, too."""

_COMPILERS = r"ptxas|nvcc|gcc|g\+\+|cc|c\+\+|clang|clang\+\+|hipcc"
_BUILDERS = rf"{_COMPILERS}|ninja|cmake"
"""Programs that build kernels at a start. One that fails was there: what a compiler lacks it says
itself, ninja only passes on.
"""

# A name that cannot be had is told before a value that is refused: "not supported" of a model
# architecture is about the model.
START_RULES: tuple[Rule, ...] = (
    rule(
        "unknown_argument",
        (
            "argument",
            "rror: ",
            "invalid choice",
            "No such option",
        ),
        (
            "unrecognized arguments?:? (?P<args>.+)",
            r"error: (?:argument (?P<arg>\S+?):|the following arguments are required|ambiguous option|unknown (?:option|argument))",
            r"expected (?:one|at least one|\d+) arguments?\b",
            "invalid choice: ",
            r"argument --?[\w/-]+(?:/-\S+)?: ",
            "No such option",
            r"(?:Engine|AsyncEngine)Args(?:\.__init__\(\))?.{0,20}(?:unexpected|got an unexpected) keyword argument '(?P<keyword>[\w-]+)'",
            r"(?:vllm(?: serve)?|api_server(?:\.py)?|__main__\.py): error: ",
        ),
        starting=True,
        unless=("custom all-?reduce",),
    ),
    rule(
        "port_in_use",
        (
            "98]",
            "in use",
            "EADDRINUSE",
            "98)",
        ),
        (
            "[Aa]ddress (?:is )?already in use",
            "EADDRINUSE",
            r"\[?[Ee]rrno 98\b",
            r"[Pp]ort \d+ is (?:already )?in use",
            "Address in use",
        ),
        starting=True,
    ),
    # uvicorn binds after it said that the application's startup is complete
    rule(
        "port_in_use",
        ("error while attempting to bind",),
        (r"error while attempting to bind on address .{0,80}already in use",),
    ),
    rule(
        "model_not_found",
        (
            "Error",
            "rror",
            "not a valid",
            "does not appear",
            "an't load",
            "annot",
            "ot found",
            "not supported",
            "No such file",
            "not exist",
            "gated",
            "retriev",
            "recognize",
            "xception: Could not receive",
        ),
        (
            r"\b40[134] Client Error",
            r"\b(?:Repository|Revision|Entry|LocalEntry)NotFoundError",
            "GatedRepo(?:Error)?",
            "gated repo",
            "[Rr]epository [Nn]ot [Ff]ound",
            "does not appear to have (?:a )?files? named",
            (
                "[Cc]an(?:'t|not) (?:load|find|access|locate) (?:the "
                ")?(?:configuration|config|tokenizer|model|gated|any model"
                "|image processor|feature extractor)"
            ),
            "not a valid model identifier",
            "is not a (?:local folder|valid (?:git )?identifier)",
            "[Mm]odel architectures? .{0,120}not supported",
            "Cannot find any model weights",
            "Invalid repository ID",
            "outgoing traffic has been disabled",
            r"couldn't connect to .{0,40}(?:huggingface|hf\b)",
            (
                r"(?:huggingface\.co|hf-mirror|modelscope|cdn-lfs)\S*.{0,120}(?:[Tt]imed out|Max retries|[Ff]ailed to resolve"
                r"|unreachable|refused|Forbidden|Unauthorized)"
            ),
            "MaxRetryError.{0,120}huggingface",
            r"PermissionError at \S+ when downloading",
            "Failed to resolve 'huggingface",
            "Repo id must (?:be|use)",
            r"[Nn]o such file or directory: .{0,200}(?:safetensors|\.json|\.bin|\.gguf|model|tokenizer)",
            r"model type `?'?[\w.-]+'?`? but Transformers does not recognize",
            "Transformers does not recognize this architecture",
            "The model path .{0,120}does not exist",
            "Error while deserializing header",
            "SafetensorError",
            "Error retrieving (?:file list|safetensors)",
            "NoSuch(?:Bucket|Key)",
            "ConnectTimeout.{0,80}huggingface",
            "No (?:model|safetensors|weight) (?:weights )?files? (?:was |were )?found",
            "Unrecognized model in",
            # object stores: botocore, and Run:ai's streamer
            r"NoCredentialsError|Unable to locate credentials|Could not receive runai_response",
        ),
        starting=True,
        unless=(
            r"\.triton|torchinductor|\.cache/(?:vllm|flashinfer|torch)|: '?/(?:proc|sys|dev)/",
        ),
    ),
    rule(
        "invalid_config",
        (
            "rror",
            "must be",
            "divisible",
            "validation",
            "not supported",
            "derived",
            "invalid device ordinal",
            "rror: DP adjusted",
            "Duplicate GPU",
            "invalid tool call parser",
            "invalid reasoning parser",
            "Assertion failed, ",
            "custom_all_reduce.cuh",
        ),
        (
            # A Service called `vllm` gives every pod of its namespace a VLLM_PORT of its own
            # (service links).
            r"VLLM_PORT .{0,80}appears to be a URI",
            # what pydantic says of a configuration's own check
            r"^\s{0,8}(?:Value error|Assertion failed), ",
            r"KeyError: .{0,3}invalid (?:tool call|reasoning) parser",
            "is not divisible by",
            "must be (?:evenly )?divisible by",
            "greater than the derived max_model_len",
            (
                r"\b(?:ValueError|AssertionError|NotImplementedError|ValidationError): .{0,200}"
                r"(?:compute capability|unsupported|[Nn]ot supported|must be|should be)"
            ),
            rf"\b(?:ValueError|AssertionError|NotImplementedError|ValidationError): .{{0,200}}(?:{_NAMED}|{_DESCRIBED})",
            rf"\b(?:TypeError|RuntimeError): .{{0,200}}(?:{_NAMED})",
            "larger than the (?:total )?number of available GPUs",
            "Duplicate GPU detected",
            # vLLM's own all-reduce ends the process where the driver refuses it the other cards'
            # memory
            r"^Failed: (?:Cuda error )?\S{1,200}custom_all_reduce\.cuh:\d+ '",
            r"Ray does not allocate any \w+ on the driver node",
            "Every node should have a unique IP address",
            r"^ValueError: .{0,300}is unsupported LoRA weight|^ValueError: While loading .{1,300}expected target modules in",
            r"DP adjusted local rank \d+ is out of bounds",
            "number of required GPUs exceeds",
            "Cannot provide a placement group",
            "Bfloat16 is only supported on GPUs",
            "CUDA error: invalid device ordinal",
            "Too large swap space",
            "trust_remote_code=True",
        ),
        starting=True,
        unless=("No compiled cutlass",),
    ),
    # the first line of an error whose next one says what is wrong
    rule(
        "invalid_config",
        ("validation",),
        (r"validation errors? for \w*(?:Config|Args)",),
        starting=True,
        weak=True,
    ),
    # Ray's cluster has no room: vLLM says so after 10, 30, 70 ... seconds, and gives up after 1,800
    rule(
        "invalid_config",
        ("placement group of specs",),
        (r"Waiting for creating a placement group of specs for (?:[6-9]\d|\d{3,}) seconds",),
        "any",
        starting=True,
        weak=True,
    ),
    # the server gave up on a core that may still load: what another line says of that core says
    # more
    rule(
        "invalid_config",
        ("imed out waiting for engine",),
        (
            r"Timed out waiting for engines to send ?initial message|Timed out waiting for engine core processes to start",
        ),
        starting=True,
        weak=True,
    ),
    rule(
        "broken_install",
        (
            "ImportError",
            "ModuleNotFoundError",
            "shared librar",
            "driver",
            "Driver",
            "no kernel image",
            "named symbol not found",
            "unsupported toolchain",
            "compiler",
            "CUDA_HOME",
            "nvcc",
            "not compiled with CUDA",
            "non supported HW",
            "nvidia-container-cli",
            'exec: "',
            "No such file or directory: '",
            "RuntimeError: ",
            "invalid device function",
            "uid not found",
            "kernel image is invalid",
            "invalid kernel file",
            "No compiled cutlass",
            "all_special_tokens_extended",
            "fatal error: ",
            "annot find -l",
            "ptxas fatal",
        ),
        (
            r"^(?:ImportError|ModuleNotFoundError): ",
            r"NVMLError_(?:DriverNotLoaded|LibraryNotFound)\b",
            # the runtimes' words for code that was not built for this card
            "(?:CUDA|HIP) error: invalid device function",
            "device kernel image is invalid|HIP error: invalid kernel file",
            r"No compiled cutlass_\w+ for ",
            # the container's user has no name, which torch asks for when it is imported
            r"getpwuid\(\): uid not found",
            # transformers 5 no longer has it
            "^AttributeError: .{1,80}has no attribute '?all_special_tokens_extended",
            rf"No such file or directory: '(?:[^']{{0,200}}/)?(?:{_BUILDERS})'",
            # the compilers' own words
            r"fatal error: \S{1,200}\.(?:h|hpp|cuh): No such file|[Cc]annot find -l(?:cuda|nvidia|cudart|python)",
            "Unsupported gpu architecture '|is not defined for option 'gpu-name'",
            r"[Ff]lash[Ii]nfer\S* version .{0,80}does not match",
            r"^RuntimeError: (?:NIXL|nixl|DeepEP|deep_ep|LMCache|lmcache|Mooncake|mooncake)\b.{0,20} is not available",
            "error while loading shared libraries",
            "NVIDIA driver on your system is too old",
            "CUDA driver version is insufficient",
            "forward compatibility was attempted on non supported HW",
            "unsupported display driver / cuda driver combination",
            "[Dd]river/library version mismatch",
            "no kernel image is available",
            "Cuda failure 'named symbol not found'",
            "PTX was compiled with an unsupported toolchain",
            "not compiled with CUDA enabled",
            "Failed to find C compiler",
            r"[Cc]ould not find nvcc|nvcc\S*: (?:command )?not found",
            "CUDA_HOME environment variable is not set",
            "nvidia-container-cli: .{0,60}error",
            "could not select device driver",
            r'exec: "[^"]{1,80}": (?:executable file not found|stat \S{1,80}: no such file|permission denied)',
        ),
        starting=True,
    ),
    # consequences: what says why there is no card, or why the compiler ended, is told first
    rule(
        "broken_install",
        (
            "No CUDA GPUs",
            "no GPU available",
            "RuntimeError: ",
            "non-zero exit status",
            "failed to be inspected",
        ),
        (
            "No CUDA GPUs are available",
            "Failed to infer device type",
            "[Cc]urrent node has no GPU available",
            # the model's code could not be imported
            "[Mm]odel architectures? .{0,120}failed to be inspected",
            rf"Command '?\[?'?(?:\S{{0,200}}/)?(?:{_COMPILERS})\b.{{0,2000}} returned non-zero exit status",
        ),
        starting=True,
        weak=True,
        unless=("No space left on device|Disk quota exceeded",),
    ),
    # met at work it is a program's fault again
    rule(
        "gpu_program_error",
        ("invalid device function",),
        ("(?:CUDA|HIP) error: invalid device function",),
    ),
    rule(
        "storage_refused",
        (
            "No space left",
            "quota exceeded",
            "Read-only file",
            "rror: [Errno 13]",
        ),
        (
            "No space left on device",
            "Disk quota exceeded",
            "Read-only file system",
            r"PermissionError: \[Errno 13\] Permission denied: '",
        ),
        starting=True,
        unless=("/dev/|/proc/|/sys/",),
    ),
    rule(
        "unclassified_error",
        ("not found", "Permission denied", "exec format", "No such file"),
        (
            r"(?:sh|bash|exec|entrypoint)\b.{0,80}(?:not found|Permission denied|exec format error|No such file or directory)",
            "executable file not found",
        ),
        starting=True,
    ),
)
