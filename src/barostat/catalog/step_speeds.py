"""How fast cards execute an engine's steps: the fraction of the data sheet's figures that real
engines reach, and the speed of links between cards.

`FITTED` was fitted by `bench/pace_fit.py` to public closed-loop measurements of vLLM 0.11 to 0.19
on H100, H200 and B200 (Qwen3-32B, Llama-3.1-70B, MiniMax-M2.5, Kimi-K2.5, gpt-oss-120b; bf16, fp8,
fp4, int4; 1 to 8 cards), with physical defaults as prior. docs/decisions/step-time.md describes the
fit and its error on held-out models and cards. Units: _ratio of the data sheet's figure, _s
seconds. Source of links: vendors' data sheets (one direction, to all other cards).
"""

from __future__ import annotations

from collections.abc import Mapping

FITTED: Mapping[str, float] = {
    "bandwidth_ratio": 0.7971, "expert_bandwidth_ratio": 0.6407, "packed_expert_ratio": 0.4452, "cache_bandwidth_ratio": 0.5343,
    "latent_bandwidth_ratio": 0.4788, "compute_16bit_ratio": 0.7289, "compute_8bit_ratio": 0.742, "compute_4bit_ratio": 0.5188,
    "expert_compute_ratio": 0.4819, "prompt_attention_ratio": 0.344, "latent_attention_ratio": 0.3377, "link_ratio": 0.5529,
    "popularity": 0.8341, "hidden_passes": 8.608, "inner_passes": 5.737, "layer_s": 1.466e-05, "expert_layer_s": 1.641e-05,
    "scaled_layer_s": 1.634e-05, "collective_s": 1.921e-05, "collective_growth": 0.3198, "step_s": 0.0002755, "request_s": 5.887e-06,
    "front_s": 0.01042, "front_token_s": 3.997e-06, "delivery_steps": 4.702,
}  # fmt: skip

# One direction, GB/s, by what a card's name starts with; the first that fits counts. What is not
# here exchanges over PCIe.
LINKS_GB_PER_S: tuple[tuple[str, float], ...] = (
    ("GB300", 900.0), ("GB200", 900.0), ("B300", 900.0), ("B200", 900.0), ("GH200", 450.0), ("H200-NVL", 450.0), ("H200", 450.0),
    ("H100-NVL", 300.0), ("H100-PCIe", 300.0), ("H100", 450.0), ("H20", 450.0), ("A100", 300.0), ("V100-SXM2", 150.0), ("MI355X", 537.0),
    ("MI350X", 537.0), ("MI325X", 448.0), ("MI300", 448.0), ("MI250", 250.0), ("Gaudi 3", 525.0), ("Gaudi 2", 262.0),
)  # fmt: skip
PCIE_GB_PER_S: Mapping[str, float] = {"12": 55.0, "10": 55.0, "9": 55.0, "8": 26.0, "7": 13.0}
"""Of a card's slot, by the compute capability's first number."""
PCIE_ELSE_GB_PER_S = 26.0

FP4_TFLOPS: Mapping[str, float] = {
    "B200-SXM": 9000.0,
    "GB200": 10000.0,
    "B300-SXM": 14000.0,
    "GB300": 15000.0,
    "MI355X": 10100.0,
}
"""Dense, of cards whose tensor cores take fp4 operands. Source: vendors' data sheets."""
FP16_TFLOPS: Mapping[str, float] = {
    "T4": 65.0,
    "V100-PCIe-16GB": 112.0,
    "V100-SXM2-16GB": 125.0,
    "V100-SXM2-32GB": 125.0,
}
"""Dense, of cards without bfloat16."""

REACH_RATIO: Mapping[str, float] = {"AMD": 0.78}
"""What a make's cards reach of their data sheets' bandwidth, over what those of the points reach.
From one public run: Qwen3-8B in bf16 on one MI300X, 32 clients, 1,024 tokens in and out, vLLM of
April 2026: 9.42 ms a token.
"""
ARITHMETIC_REACH_RATIO: Mapping[str, float] = {"AMD": 0.5}
"""The same of their arithmetic. From one public run log: first tokens of cold prompts of many lengths
on one MI300X (vLLM 0.28.0, bf16) rise by 34.2, 29.5 and 141 microseconds a token for Llama-3.1-8B,
Qwen2.5-7B and Seed-OSS-36B; less what is read and written, that is 0.45, 0.50 and 0.54.
"""

HALF_RATE_CARDS: tuple[str, ...] = ("A10G", "L20", "RTX 30", "RTX 40", "RTX 50")
"""By what a card's name starts with: tensor cores that add up in 32 bits do so at half their rate,
and the data sheet's figure for that is the one in the catalogue.
"""
HALF_RATE_RATIO = 0.93
"""Share of that figure that 16-bit products reach: nothing else in the core is short of it. Source:
measured by others on an RTX 4060 (0.957 of the tensor path, triton-lang/triton#10851), an RTX 4090
(165 of 165.2 TFLOPS, tinygrad/tinygrad#13623) and an L20 (105 to 115 of 119.5 TFLOPS).
"""
TILE_ROWS = 128
"""Rows of a kernel's tile on cards of compute capability 8 and 12: more tokens than that are
multiplied in whole tiles. Source: ai-dynamo/aiconfigurator@095f58a5, tables of GEMM on L40S and RTX
PRO 6000 (513 rows take 22 and 19 % longer a row than 512, 769 rows 11 and 10 % longer than 768).
Hopper loses half as much; what its points were fitted to has that in it.
"""

MEASURED_CARDS: frozenset[str] = frozenset(("H100-SXM5-80GB", "H200-SXM-141GB", "B200-SXM"))
"""Cards that the points were measured on."""
SIMILAR_CARDS: frozenset[str] = frozenset(("H100-NVL-94GB", "H100-PCIe-80GB", "H200-NVL-141GB", "GH200-96GB", "GH200-144GB-HBM3e",
                                           "GB200", "B300-SXM", "GB300"))  # fmt: skip
"""Cards of the same generations, of which no point was measured."""
