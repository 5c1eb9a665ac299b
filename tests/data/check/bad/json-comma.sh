#!/bin/sh
vllm serve a/b \
  --compilation-config \
  '{
    "cudagraph_mode": "FULL_DECODE_ONLY",
  }'
