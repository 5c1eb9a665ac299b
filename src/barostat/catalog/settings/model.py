"""Settings of the model: which weights, in which precision, with which inputs.

Source: vLLM 0.32.0, vllm/config/model.py, multimodal.py and EngineArgs; history: the argument
parsers of the published wheels 0.6.6.post1 to 0.33.0, every minor read.
"""

from __future__ import annotations

from barostat.catalog.settings.setting import EDGE, POOL, PROCESS, Setting

# fmt: off
SETTINGS = (
    Setting("model", "text", POOL | PROCESS, since="0.1.0", log_names=("model", "model_tag")),
    Setting("tokenizer", "text", PROCESS, since="0.1.0"),
    Setting("served_model_name", "list", EDGE, log_names=("served_model_name",)),
    Setting("dtype", "text", POOL | PROCESS,
        "precision of weights and activations", since="0.1.0",
        choices=("auto", "half", "float16", "bfloat16", "float", "float32"), log_names=("dtype",),
        sized=True, chart="dtype"),
    Setting("quantization", "text", POOL | PROCESS,
        "quantization format of the weights", aliases=("-q",), optional=True, log_names=("quantization",),
        sized=True),
    Setting("trust_remote_code", "bool", PROCESS),
    Setting("revision", "text", PROCESS),
    Setting("download_dir", "text", PROCESS),
    Setting("limit_mm_per_prompt", "json", POOL | EDGE,
        "maximum number of images, videos and audio clips per request; the largest are profiled "
        "at start", sized=True),
    Setting("language_model_only", "bool", POOL | EDGE,
        "load only the text part of a multimodal model", since="0.16.0", since_sure=False, sized=True),
    Setting("skip_mm_profiling", "bool", POOL,
        "start without profiling the largest image, video or audio clip", since="0.11.0",
        since_sure=False, sized=True),
    Setting("hf_overrides", "json", POOL | PROCESS),
    Setting("generation_config", "text", EDGE),
    Setting("override_generation_config", "json", EDGE,
        "max_new_tokens in it caps the output of every request since 0.18.0"),
)
# fmt: on
