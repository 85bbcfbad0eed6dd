#!/bin/bash
# Times every model solution on the GPU, one at a time, and prints the table. See scripts/gpu_tests.sh
# for what the machine needs; OUT=/some/folder keeps the table as text and JSON.
set -uo pipefail
cd "$(dirname "$0")/.."

export PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}"
export PYTHONUNBUFFERED=1
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,temperature.gpu --format=csv
exec "${PYTHON:-python3}" -m tests.bench.gpu_figures "$@"
