"""What problems of one kernel interface share: buffers, input families, float32 yardsticks and mutants."""
