#!/bin/bash
# Takes the figures of the GPU, one part after the other, and goes on after a failure. See scripts/gpu_tests.sh
# for what the machine needs; OUT=/some/folder keeps tables as text and JSON.
#
#   scripts/gpu_bench.sh                         every part
#   scripts/gpu_bench.sh figures repeat          only these parts
#   BUDGET_S=540 scripts/gpu_bench.sh figures    begins nothing new in a part after so many seconds of it
#   GPU_PROBLEMS="gqa-decode" scripts/gpu_bench.sh figures    only these problems
#   LADDER="gqa-decode folder/ --case 64x4096" scripts/gpu_bench.sh ladder    these kernels side by side, fastest first
#
# Parts: figures (model solutions), repeat, aa, slower, ncu (can the times be trusted), batch (1 GPU and all of
# them), warm (a warm one-shot worker), page (the figures in $OUT added to docs/results.json, and its pages). Only by
# name: ladder (many kernels of a problem side by side; tests/bench/ladder.py), sdpa (PyTorch's attention beside ours;
# needs PyTorch; SDPA holds its arguments).
set -uo pipefail
cd "$(dirname "$0")/.."

python="${PYTHON:-python3}"
export PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}"
export PYTHONUNBUFFERED=1
export PATH="$PATH:/usr/local/cuda/bin"
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,temperature.gpu --format=csv
failed=()

part() { # part NAME COMMAND...
    local name="$1" began=$SECONDS
    shift
    echo "=== $name"
    "$@" || failed+=("$name")
    echo "=== $name took $((SECONDS - began)) s"
}

[[ $# -gt 0 ]] || set -- figures repeat aa slower ncu batch warm page
for name in "$@"; do
    case "$name" in
    figures) part figures "$python" -m tests.bench.gpu_figures ${GPU_PROBLEMS:-} ;;
    repeat | aa | slower | ncu) part "$name" "$python" -m tests.bench.timing_trials "$name" ;;
    batch) part batch "$python" -m tests.bench.gpu_batch ;;
    warm) part warm "$python" -m tests.bench.gpu_batch --warm ;;
    ladder) part ladder "$python" -m tests.bench.ladder ${LADDER:-${GPU_PROBLEMS:-$(cat problems/order.txt)}} ;;
    sdpa) part sdpa "$python" -m tests.bench.sdpa ${SDPA:-} ;;
    page) part page "$python" scripts/results_page.py "${OUT:-.}/gpu_figures.json" ;;
    *) echo "no part is called $name" >&2; exit 2 ;;
    esac
done
[[ ${#failed[@]} -eq 0 ]] || { echo "failed: ${failed[*]}"; exit 1; }
