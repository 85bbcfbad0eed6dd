"""One module a command. What a command needs beyond typer is imported when it runs."""
