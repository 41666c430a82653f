#!/usr/bin/env bash
# Trains configs/paper/tau_retail_qwen2.5-7b.toml on 8 GPUs. 4 of them learn;
# 3 servers of slot policy and 1 of slot target have 1 each.
# nlac-bench and vLLM must be installed in the active environment.
# Whoever reaches a server can replace its weights: use a private network.
set -euo pipefail
mkdir -p runs/tau_retail_qwen2.5-7b-logs
servers=()
finish() { # ends the servers; kills those that still run after a minute
  kill "${servers[@]}" 2>/dev/null || return 0
  for _ in {1..60}; do
    kill -0 "${servers[@]}" 2>/dev/null || return 0
    sleep 1
  done
  kill -KILL "${servers[@]}" 2>/dev/null || true
}
trap finish EXIT
trap 'exit 143' INT TERM

VLLM_SERVER_DEV_MODE=1 CUDA_VISIBLE_DEVICES=4 python -m vllm.entrypoints.openai.api_server --model Qwen/Qwen2.5-7B-Instruct --host 127.0.0.1 --port 8000 --tensor-parallel-size 1 --gpu-memory-utilization 0.9 --max-model-len 17408 --load-format safetensors --enable-prefix-caching --generation-config vllm --disable-uvicorn-access-log --enable-scale-out --weight-transfer-config '{"backend": "nlac_bench_nccl"}' --logprobs-mode processed_logprobs --enable-prompt-tokens-details --dtype bfloat16 >runs/tau_retail_qwen2.5-7b-logs/server-0-policy.log 2>&1 &
servers+=($!)
VLLM_SERVER_DEV_MODE=1 CUDA_VISIBLE_DEVICES=5 python -m vllm.entrypoints.openai.api_server --model Qwen/Qwen2.5-7B-Instruct --host 127.0.0.1 --port 8001 --tensor-parallel-size 1 --gpu-memory-utilization 0.9 --max-model-len 17408 --load-format safetensors --enable-prefix-caching --generation-config vllm --disable-uvicorn-access-log --enable-scale-out --weight-transfer-config '{"backend": "nlac_bench_nccl"}' --logprobs-mode processed_logprobs --enable-prompt-tokens-details --dtype bfloat16 >runs/tau_retail_qwen2.5-7b-logs/server-1-policy.log 2>&1 &
servers+=($!)
VLLM_SERVER_DEV_MODE=1 CUDA_VISIBLE_DEVICES=6 python -m vllm.entrypoints.openai.api_server --model Qwen/Qwen2.5-7B-Instruct --host 127.0.0.1 --port 8002 --tensor-parallel-size 1 --gpu-memory-utilization 0.9 --max-model-len 17408 --load-format safetensors --enable-prefix-caching --generation-config vllm --disable-uvicorn-access-log --enable-scale-out --weight-transfer-config '{"backend": "nlac_bench_nccl"}' --logprobs-mode processed_logprobs --enable-prompt-tokens-details --dtype bfloat16 >runs/tau_retail_qwen2.5-7b-logs/server-2-policy.log 2>&1 &
servers+=($!)
VLLM_SERVER_DEV_MODE=1 CUDA_VISIBLE_DEVICES=7 python -m vllm.entrypoints.openai.api_server --model Qwen/Qwen2.5-7B-Instruct --host 127.0.0.1 --port 8003 --tensor-parallel-size 1 --gpu-memory-utilization 0.9 --max-model-len 17408 --load-format safetensors --enable-prefix-caching --generation-config vllm --disable-uvicorn-access-log --enable-scale-out --weight-transfer-config '{"backend": "nlac_bench_nccl"}' --logprobs-mode processed_logprobs --enable-prompt-tokens-details --dtype bfloat16 >runs/tau_retail_qwen2.5-7b-logs/server-3-target.log 2>&1 &
servers+=($!)

for url in "http://127.0.0.1:8000" "http://127.0.0.1:8001" "http://127.0.0.1:8002" "http://127.0.0.1:8003"; do
  until curl --silent --fail --output /dev/null "$url/health"; do
    for pid in "${servers[@]}"; do
      kill -0 "$pid" 2>/dev/null || { echo "a server has ended; its output is in "runs/tau_retail_qwen2.5-7b-logs >&2; exit 1; }
    done
    if [ "$SECONDS" -gt 1800 ]; then
      echo "$url does not answer after 1800 s; its output is in "runs/tau_retail_qwen2.5-7b-logs >&2
      exit 1
    fi
    sleep 5
  done
done

# A stop signal goes to the learner; the servers run as long as it does.
CUDA_VISIBLE_DEVICES=0,1,2,3 torchrun --standalone --nproc-per-node 4 --max-restarts 0 --shutdown-timeout 600 -m nlac_bench run --config configs/paper/tau_retail_qwen2.5-7b.toml --servers http://127.0.0.1:8000@policy,http://127.0.0.1:8001@policy,http://127.0.0.1:8002@policy,http://127.0.0.1:8003@target --weights-by nccl --out runs/tau_retail_qwen2.5-7b &
learner=$!
trap 'kill -TERM "$learner" 2>/dev/null || true' INT TERM
while :; do
  code=0
  wait "$learner" || code=$?
  kill -0 "$learner" 2>/dev/null || exit "$code"
done
