docker run --gpus all ^
  vllm/vllm-openai:v0.19.0 ^
  --model a/b --swap-space 4
