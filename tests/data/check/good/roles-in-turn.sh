#!/bin/bash
# Two ways of serving, compared one after the other on the same cards.
MODEL=Qwen/Qwen3-8B

aggregated() {
  CUDA_VISIBLE_DEVICES=0 vllm serve $MODEL --port 8100 --gpu-memory-utilization 0.6 &
  CUDA_VISIBLE_DEVICES=1 vllm serve $MODEL --port 8200 --gpu-memory-utilization 0.6 &
  sleep 300
}

apart() {
  CUDA_VISIBLE_DEVICES=0 vllm serve $MODEL --port 8101 --gpu-memory-utilization 0.6 &
  CUDA_VISIBLE_DEVICES=1 vllm serve $MODEL --port 8201 --gpu-memory-utilization 0.6 &
  sleep 300
}

aggregated
kill %1 %2
apart
kill %3 %4

CUDA_VISIBLE_DEVICES=0 vllm serve $MODEL --port 8001 --gpu-memory-utilization 0.9 &
first=$!
sleep 600
kill "$first"
CUDA_VISIBLE_DEVICES=0 vllm serve $MODEL --port 8002 --gpu-memory-utilization 0.9 &
wait
