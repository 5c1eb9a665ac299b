#!/bin/sh
MODEL=Qwen/Qwen3-8B
docker run --gpus all -p 8000:8000 \
  vllm/vllm-openai:v0.30.0 \
  --model $MODEL \
  --swap-space 4 \
  --max-num-seqs 512 --max-num-batched-tokens 256
