"""`judge schema`: the JSON Schema of a report."""


def schema() -> None:
    """Print the JSON Schema of `judge test --format json`."""
    from judge.cli.output import say_json
    from judge.records import report_schema

    say_json(report_schema())
