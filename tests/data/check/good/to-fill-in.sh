#!/bin/sh
vllm serve <model> --port <port> --max-model-len <n> # up to 131072
vllm serve a/b --speculative-config '{"model": <draft>, "method": "eagle3"}' --kv-transfer-config '{...}'
