#!/bin/bash
# Runs every GPU test in one call and goes on after failures. For a machine with an NVIDIA GPU whose
# python3 has the project's dependencies, installed or on PYTHONPATH (the lock file names them).
#
#   scripts/gpu_tests.sh            tables and logs to the screen
#   OUT=/some/folder scripts/gpu_tests.sh    and as files there
#   scripts/gpu_tests.sh gqa-decode flash-forward/time_limit   only these planted submissions
#   PARTS="timing redteam" scripts/gpu_tests.sh   only these parts: driver, device, timing, redteam, submissions
set -uo pipefail
cd "$(dirname "$0")/.."

python="${PYTHON:-python3}"
export PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}"
export PYTHONUNBUFFERED=1
export GPU_PROBLEMS="$*"
results=()

step() { # step NAME COMMAND...: run, time and note the outcome
    local name="$1" began=$SECONDS
    shift
    echo "=== $name"
    if "$@"; then results+=("passed  $((SECONDS - began)) s  $name"); else results+=("FAILED  $((SECONDS - began)) s  $name"); fi
}

missing="$("$python" - <<'PY'
import importlib.util
needed = ["numpy", "pydantic", "cupy_backends", "tree_sitter", "tree_sitter_cuda", "llvmlite", "typer", "rich", "pytest", "hypothesis"]
print(" ".join(name for name in needed if importlib.util.find_spec(name) is None))
PY
)" || exit 3
if [[ -n "$missing" ]]; then
    echo "python3 lacks: $missing. Install requirements/lock.txt, or put them on PYTHONPATH." >&2
    [[ "$missing" == *pytest* || "$missing" == *pydantic* || "$missing" == *numpy* ]] && exit 3
fi

parts="${PARTS:-driver device timing redteam submissions}"
report=()
[[ -n "${OUT:-}" ]] && report=(--junitxml "$OUT/gpu_tests.xml")
for part in $parts; do
    case "$part" in
    driver)
        step "driver" nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.sm --format=csv
        step "doctor" "$python" practice/judge.py doctor
        ;;
    device) step "worker and device" "$python" -m pytest tests/gpu -rA --tb=short --ignore tests/gpu/test_submissions.py \
        --ignore tests/gpu/test_timing_cuda.py --ignore tests/gpu/test_redteam_cuda.py "${report[@]}" ;;
    timing) step "timing" "$python" -m pytest tests/gpu/test_timing_cuda.py -rA --tb=short -s ;;
    redteam) step "hostile submissions" "$python" -m pytest tests/gpu/test_redteam_cuda.py -rA --tb=short -s ;;
    submissions) step "planted submissions" "$python" -m pytest tests/gpu/test_submissions.py -rA --tb=line -s ;;
    *) echo "no part is called $part" >&2; exit 2 ;;
    esac
done

echo
echo "=== summary"
printf '%s\n' "${results[@]}"
[[ "${results[*]}" != *FAILED* ]]
