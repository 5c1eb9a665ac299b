#!/bin/bash
cat > /etc/systemd/system/vllm.service <<EOF
[Service]
ExecStart=/opt/vllm serve Qwen/Qwen3-8B --gpu-memory-utilization 95
EOF
kubectl apply -f - <<'EOF'
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers:
  - name: v
    image: vllm/vllm-openai:v0.19.0
    args: ["--model", "a/b", "--swap-space=4"]
    resources: {limits: {nvidia.com/gpu: 1}}
EOF
ssh host <<EOF
vllm serve x/y --gpu-memory-utilization 95
EOF
ssh host "vllm serve x/z --gpu-memory-utilization 95"
pgrep -f "vllm serve"
if ! pgrep -f "vllm serve" >/dev/null; then vllm serve x/w --gpu-memory-utilization 95; fi
docker manifest create vllm/vllm-openai:latest --amend a
