#!/bin/sh
# A named volume is no image; the image may stand in a variable.
docker run --rm --gpus all \
  -v vllm-cache:/root/.cache/vllm \
  vllm/vllm-openai:latest \
  Qwen/Qwen3-8B
IMAGE=vllm/vllm-openai:nightly
docker run --gpus all $IMAGE Qwen/Qwen3-8B --port 8200
