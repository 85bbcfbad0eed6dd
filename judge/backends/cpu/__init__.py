"""PTX on the CPU: parse, inline, lower to LLVM, run one warp as 32-wide vectors, watch every access."""
