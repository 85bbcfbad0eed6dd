"""The report as JSON: one value, keys as in `judge schema`, figures that JSON has no word for as null."""

from judge.records import Report


def render_json(report: Report) -> str:
    """One JSON object, indented, with a final newline."""
    return report.model_dump_json(indent=2) + "\n"
