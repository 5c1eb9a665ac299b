job "llm" {
  group "g" {
    task "vllm" {
      driver = "docker"
      config {
        image = "vllm/vllm-openai:v0.19.0"
        args = ["--model", "Qwen/Qwen3-8B", "--swap-space", "4"]
      }
    }
  }
}
