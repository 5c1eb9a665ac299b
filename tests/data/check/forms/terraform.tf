resource "kubernetes_deployment" "x" {
  spec {
    template {
      spec {
        container {
          name  = "vllm"
          image = "vllm/vllm-openai:v0.19.0"
          args  = concat(["--model", var.model, "--swap-space=4"], var.extra)
          env {
            name = "VLLM_USE_V1"
            value = "0"
          }
        }
      }
    }
  }
}
resource "aws_instance" "y" {
  user_data = <<-EOT
    #!/bin/bash
    docker run --gpus all vllm/vllm-openai:v0.19.0 --model ${var.m} --swap-space 4
  EOT
}
