#!/bin/bash
# A container of the engine's image that only waits; what runs in it is started later.
docker run -d --name bench --privileged -v /dev/shm:/dev/shm vllm/vllm-openai tail -f /dev/null
docker run -d --gpus all vllm/vllm-openai /bin/bash -c "sleep infinity"
docker exec bench /bin/bash -c ./run.sh
