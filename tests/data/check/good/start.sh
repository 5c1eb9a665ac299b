#!/usr/bin/env bash
set -euo pipefail
MODEL=${MODEL:-Qwen/Qwen3-8B}
PORT=8000

if [[ -z "${HF_TOKEN:-}" ]]; then
  echo "HF_TOKEN is needed; then: vllm serve $MODEL --swap-space 4"
  exit 1
fi
exec python3 -m vllm.entrypoints.openai.api_server \
  --model "$MODEL" --port "$PORT" \
  --max-model-len 8k --kv-cache-dtype fp8 "$@"
