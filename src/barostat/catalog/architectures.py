"""Which architectures vLLM serves as text generators, and how each lays out its KV cache.

Source: vLLM 0.32.0, names in ModelRegistry (text generation and multimodal); layouts from the model
classes' attention layers.
"""

from __future__ import annotations

from typing import Literal

Family = Literal[
    "plain", "gemma2", "gemma3", "gemma3n", "gemma4", "cohere2", "olmo3", "exaone4", "gpt-oss", "llama4", "latent", "deepseek-v4",
    "qwen-linear", "nemotron-h", "jamba", "mamba", "mamba2", "falcon-h1", "granite-hybrid", "lfm2", "zamba2", "kimi-linear",
    "bailing-linear",
    "minimax-m3", "mimo-v2", "step3p5", "mllama", "whisper", "layer-types", "searched",
]  # fmt: skip

# KV layout by architecture. Architectures in PLAIN have one attention layer per transformer layer,
# all identical.
FAMILIES: dict[str, Family] = {
    **dict.fromkeys(("Gemma2ForCausalLM",), "gemma2"),
    **dict.fromkeys(("Gemma3ForCausalLM", "Gemma3ForConditionalGeneration", "Gemma3TextModel"), "gemma3"),
    **dict.fromkeys(("Gemma3nForCausalLM", "Gemma3nForConditionalGeneration"), "gemma3n"),
    **dict.fromkeys(("Gemma4ForCausalLM", "Gemma4ForConditionalGeneration", "Gemma4UnifiedForConditionalGeneration"), "gemma4"),
    **dict.fromkeys(("Cohere2ForCausalLM", "Cohere2MoeForCausalLM", "Cohere2VisionForConditionalGeneration"), "cohere2"),
    **dict.fromkeys(("Olmo3ForCausalLM",), "olmo3"),
    **dict.fromkeys(("Exaone4ForCausalLM", "ExaoneMoeForCausalLM", "ExaoneMoEForCausalLM", "Exaone4_5_ForConditionalGeneration"),
    "exaone4"),
    **dict.fromkeys(("GptOssForCausalLM",), "gpt-oss"),
    **dict.fromkeys(("Llama4ForCausalLM", "Llama4ForConditionalGeneration"), "llama4"),
    **dict.fromkeys(
        (
            "DeepseekV2ForCausalLM", "DeepseekV3ForCausalLM", "DeepseekV32ForCausalLM", "Glm4MoeLiteForCausalLM", "GlmMoeDsaForCausalLM",
            "KimiVLForConditionalGeneration", "KimiK25ForConditionalGeneration", "LongcatFlashForCausalLM", "DeepseekVLV2ForCausalLM",
            "MiniCPM3ForCausalLM", "AXK1ForCausalLM", "MistralLarge3ForCausalLM", "PanguUltraMoEForCausalLM", "SarvamMLAForCausalLM",
        ),
        "latent",
    ),
    **dict.fromkeys(("DeepseekV4ForCausalLM", "DeepseekV4ForConditionalGeneration"), "deepseek-v4"),
    **dict.fromkeys(
        (
            "Qwen3NextForCausalLM", "Qwen3_5ForCausalLM", "Qwen3_5MoeForCausalLM", "Qwen3_5ForConditionalGeneration",
            "Qwen3_5MoeForConditionalGeneration", "OlmoHybridForCausalLM",
        ),
        "qwen-linear",
    ),
    **dict.fromkeys(("NemotronHForCausalLM", "NemotronHPuzzleForCausalLM", "NemotronH_Nano_VL_V2"), "nemotron-h"),
    "JambaForCausalLM": "jamba",
    **dict.fromkeys(("MambaForCausalLM", "FalconMambaForCausalLM"), "mamba"),
    "Mamba2ForCausalLM": "mamba2",
    "FalconH1ForCausalLM": "falcon-h1",
    **dict.fromkeys(("GraniteMoeHybridForCausalLM", "BambaForCausalLM"), "granite-hybrid"),
    **dict.fromkeys(("Lfm2ForCausalLM", "Lfm2MoeForCausalLM", "Lfm2VlForConditionalGeneration"), "lfm2"),
    "Zamba2ForCausalLM": "zamba2",
    **dict.fromkeys(("KimiLinearForCausalLM", "KimiK3ForConditionalGeneration"), "kimi-linear"),
    **dict.fromkeys(("BailingMoeV2_5ForCausalLM", "MiniMaxText01ForCausalLM", "MiniMaxM1ForCausalLM"), "bailing-linear"),
    **dict.fromkeys(
        ("MiniMaxM3ForCausalLM", "MiniMaxM3SparseForCausalLM", "MiniMaxM3SparseForConditionalGeneration"), "minimax-m3"
    ),
    **dict.fromkeys(("MiMoV2FlashForCausalLM", "MiMoV2ForCausalLM", "MiMoV2OmniForCausalLM"), "mimo-v2"),
    **dict.fromkeys(("Step3p5ForCausalLM", "Step3p7FlashForCausalLM", "Step3p7ForConditionalGeneration"), "step3p5"),
    "MllamaForConditionalGeneration": "mllama",
    "DeciLMForCausalLM": "searched",
    "WhisperForConditionalGeneration": "whisper",
    **dict.fromkeys(
        ("GraniteMoeSWAForCausalLM", "GraniteSWAForCausalLM", "AfmoeForCausalLM", "LagunaForCausalLM", "Plamo3ForCausalLM",
        "Rnj1ForCausalLM"),
        "layer-types",
    ),
}  # fmt: skip

PLAIN = frozenset(
    """
    ApertusForCausalLM AquilaForCausalLM ArcticForCausalLM BaiChuanForCausalLM BaichuanForCausalLM BailingMoeForCausalLM
    BailingMoeV2ForCausalLM BloomForCausalLM ChatGLMModel ChatGLMForConditionalGeneration CohereForCausalLM DbrxForCausalLM
    DeepseekForCausalLM Ernie4_5ForCausalLM Ernie4_5_MoeForCausalLM Ernie4_5_VLMoeForConditionalGeneration
    ExaoneForCausalLM FalconForCausalLM GemmaForCausalLM GlmForCausalLM Glm4ForCausalLM Glm4MoeForCausalLM Glm4vForConditionalGeneration
    Glm4vMoeForConditionalGeneration GLM4VForCausalLM GPT2LMHeadModel GPTBigCodeForCausalLM GPTJForCausalLM GPTNeoXForCausalLM
    GraniteForCausalLM GraniteMoeForCausalLM GraniteMoeSharedForCausalLM GritLM HYV3ForCausalLM HunYuanMoEV1ForCausalLM
    HunYuanDenseV1ForCausalLM HyperCLOVAXForCausalLM Idefics3ForConditionalGeneration InternLMForCausalLM InternLM2ForCausalLM
    InternLM3ForCausalLM InternVLChatModel InternVLForConditionalGeneration InternS1ForConditionalGeneration IQuestCoderForCausalLM
    LlamaForCausalLM LLaMAForCausalLM LlavaForConditionalGeneration LlavaNextForConditionalGeneration
    LlavaOnevisionForConditionalGeneration MiniCPMForCausalLM MiniCPMV MiniMaxM2ForCausalLM Ministral3ForCausalLM MistralForCausalLM
    Mistral3ForConditionalGeneration MixtralForCausalLM MiMoForCausalLM MolmoForCausalLM Molmo2ForConditionalGeneration
    MPTForCausalLM NemotronForCausalLM OlmoForCausalLM Olmo2ForCausalLM OlmoeForCausalLM OPTForCausalLM OrionForCausalLM
    Ovis Ovis2_5 PaliGemmaForConditionalGeneration PersimmonForCausalLM PhiForCausalLM Phi3ForCausalLM Phi3VForCausalLM
    Phi4MMForCausalLM PhiMoEForCausalLM PixtralForConditionalGeneration QWenLMHeadModel Qwen2ForCausalLM Qwen2MoeForCausalLM
    Qwen2VLForConditionalGeneration Qwen2_5_VLForConditionalGeneration Qwen2AudioForConditionalGeneration
    Qwen2_5OmniForConditionalGeneration Qwen2_5OmniModel Qwen3ForCausalLM Qwen3MoeForCausalLM Qwen3VLForConditionalGeneration
    Qwen3VLMoeForConditionalGeneration Qwen3OmniMoeForConditionalGeneration RWForCausalLM SeedOssForCausalLM SmolLM3ForCausalLM
    SmolVLMForConditionalGeneration SolarForCausalLM StableLmForCausalLM StableLMEpochForCausalLM Starcoder2ForCausalLM
    Step1ForCausalLM Step3TextForCausalLM Step3VLForConditionalGeneration TeleChat2ForCausalLM TeleChat3ForCausalLM
    TeleFLMForCausalLM UltravoxModel VoxtralForConditionalGeneration XverseForCausalLM YiForCausalLM Dots1ForCausalLM
    NVLM_D Llama_Nemotron_Nano_VL SarvamMoEForCausalLM
    """.split()  # noqa: SIM905
)

# Architecture by model_type, for a configuration without `architectures` (a dictionary from the
# user's code).
BY_MODEL_TYPE: dict[str, str] = {
    "llama": "LlamaForCausalLM", "mistral": "MistralForCausalLM", "mixtral": "MixtralForCausalLM", "qwen2": "Qwen2ForCausalLM",
    "qwen2_moe": "Qwen2MoeForCausalLM", "qwen3": "Qwen3ForCausalLM", "qwen3_moe": "Qwen3MoeForCausalLM",
    "qwen3_next": "Qwen3NextForCausalLM",
    "qwen3_5": "Qwen3_5ForCausalLM", "qwen3_5_moe": "Qwen3_5MoeForCausalLM", "gemma": "GemmaForCausalLM", "gemma2": "Gemma2ForCausalLM",
    "gemma3": "Gemma3ForConditionalGeneration", "gemma3_text": "Gemma3ForCausalLM", "gemma4": "Gemma4ForConditionalGeneration",
    "phi3": "Phi3ForCausalLM", "olmo2": "Olmo2ForCausalLM", "olmo3": "Olmo3ForCausalLM", "gpt_oss": "GptOssForCausalLM",
    "deepseek_v2": "DeepseekV2ForCausalLM", "deepseek_v3": "DeepseekV3ForCausalLM", "deepseek_v32": "DeepseekV32ForCausalLM",
    "kimi_k2": "DeepseekV3ForCausalLM", "kimi_linear": "KimiLinearForCausalLM", "opt": "OPTForCausalLM", "gpt2": "GPT2LMHeadModel",
    "mpt": "MPTForCausalLM", "falcon": "FalconForCausalLM", "cohere": "CohereForCausalLM", "cohere2": "Cohere2ForCausalLM",
    "granite": "GraniteForCausalLM", "starcoder2": "Starcoder2ForCausalLM", "nemotron_h": "NemotronHForCausalLM",
    "glm4_moe": "Glm4MoeForCausalLM", "minimax_m2": "MiniMaxM2ForCausalLM",
}  # fmt: skip


def family_of(architecture: str) -> Family | None:
    """Return the KV cache layout of an architecture; None if it is unknown."""
    return "plain" if architecture in PLAIN else FAMILIES.get(architecture)
