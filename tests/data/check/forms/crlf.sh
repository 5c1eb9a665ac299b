export M=Qwen/Qwen3-8B
vllm serve $M \
  --port 8000 \
  --gpu-memory-utilization 95
