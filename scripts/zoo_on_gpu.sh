#!/bin/bash
# Runs the bug zoo on a GPU under compute-sanitizer's four tools and prints what they say beside what the
# CPU backend says. Without compute-sanitizer the kernels run bare. See scripts/gpu_tests.sh for what the
# machine needs.
#
#   scripts/zoo_on_gpu.sh                            every specimen
#   scripts/zoo_on_gpu.sh 'bugs/race_*' --budget 300     some of them; start nothing after 300 s
#   OUT=/some/folder scripts/zoo_on_gpu.sh           zoo.txt, zoo.md, zoo.json and zoo_log.txt there
set -uo pipefail
cd "$(dirname "$0")/.."

export PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}"
export PYTHONUNBUFFERED=1
nvidia-smi --query-gpu=name,driver_version --format=csv || echo "no nvidia-smi: the GPU's column will say why"
exec "${PYTHON:-python3}" -m tests.gpu.zoo "$@"
