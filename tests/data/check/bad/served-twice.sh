#!/bin/sh
docker run --gpus all vllm/vllm-openai:v0.32.0 \
  vllm serve Qwen/Qwen3-8B --port 8000
docker run --gpus all --entrypoint vllm vllm/vllm-openai:v0.31.0 serve Qwen/Qwen3-4B --port 8001
vllm serve Qwen/Qwen3-8B \
  --tensor-parallel-size 2 \ 
  --port 8002
