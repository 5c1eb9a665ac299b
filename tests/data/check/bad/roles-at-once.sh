#!/bin/bash
serve() {
  CUDA_VISIBLE_DEVICES=0 vllm serve Qwen/Qwen3-0.6B --port 8001 --gpu-memory-utilization 0.5 &
  wait_for 8001
  CUDA_VISIBLE_DEVICES=0 vllm serve Qwen/Qwen3-8B --port 8002 \
    --gpu-memory-utilization 0.6 &
  wait_for 8002
}
trap 'kill $(jobs -p)' EXIT
serve
