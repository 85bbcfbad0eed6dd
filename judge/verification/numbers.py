"""How figures of outputs and parameters are shown to people."""

from collections.abc import Mapping


def show_number(value: float | str) -> str:
    """Enough digits to see a float32 difference; 'nan' and 'inf' as they are."""
    return value if isinstance(value, str) else f"{value:.7g}"


def show_parameters(parameters: Mapping[str, int | float | bool]) -> str:
    """Parameters of a case in one line: "N 33, scale 0.125, causal true"."""
    return ", ".join(f"{name} {_scalar(value)}" for name, value in parameters.items())


def _scalar(value: int | float | bool) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)
