#!/bin/bash
for i in 0 1; do
  CUDA_VISIBLE_DEVICES=$i vllm serve $MODEL --port $((8000 + i)) --gpu-memory-utilization 0.9 &
  CUDA_VISIBLE_DEVICES=$i vllm serve $MODEL --port $((9000 + i)) --gpu-memory-utilization 0.7 &
done
wait
