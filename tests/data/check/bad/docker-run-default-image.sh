#!/usr/bin/env bash
set -euo pipefail
IMAGE="${IMAGE:-vllm/vllm-openai:v0.21.0}"
MODEL=${1:-Qwen/Qwen3-8B}
exec docker run --rm --gpus '"device=0"' --ipc=host \
  -v "$HOME/.cache/huggingface:/root/.cache/huggingface" \
  -e HF_TOKEN \
  "$IMAGE" --model "$MODEL" --max-model-len 8192 --swap-space 4
