"""The `judge` command: one module a command under commands/, imported only as far as `--help` needs."""
