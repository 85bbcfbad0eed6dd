"""How a figure of an output is shown to people."""


def show_number(value: float | str) -> str:
    """Enough digits to see a float32 difference; 'nan' and 'inf' as they are."""
    return value if isinstance(value, str) else f"{value:.7g}"
