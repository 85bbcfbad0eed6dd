"""How figures of outputs and parameters are shown to people."""

from collections.abc import Mapping


def show_number(value: float | str) -> str:
    """Enough digits to see a float32 difference; 'nan' and 'inf' as they are."""
    return value if isinstance(value, str) else f"{value:.7g}"


def show_parameters(parameters: Mapping[str, int | float | bool]) -> str:
    """Parameters of a case in one line: "N 33, scale 0.125, causal true"."""
    return ", ".join(f"{name} {_scalar(value)}" for name, value in parameters.items())


def count_of(number: int, one: str, many: str = "") -> str:
    """A number with its noun: "1 case", "2 cases". many: the plural where it is not the noun with an s."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def _scalar(value: int | float | bool) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)
