"""The reference page of the API: the OpenAPI description as plain HTML, with no script and nothing from elsewhere."""

import json
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "code,pre{font-family:ui-monospace,monospace;font-size:.9em}pre{overflow:auto;padding:.7rem;border:1px solid}"
    "table{border-collapse:collapse}td,th{border:1px solid;padding:.2rem .6rem;text-align:left;vertical-align:top}"
    ".wide{overflow-x:auto}h3{overflow-wrap:anywhere}td:first-child,th:first-child{position:sticky;left:0;background:Canvas}"
    ":root{color-scheme:light dark;background:Canvas}"
    "a{color:#0b57b0}@media(prefers-color-scheme:dark){a{color:#86b8ff}}"
)
POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'"


def render_reference(description: dict[str, Any]) -> str:
    """An HTML document of all operations and schemas."""
    parts = [
        f"<h1>{escape(description['info']['title'])} {escape(description['info']['version'])}</h1>",
        f"<p>{escape(description['info']['description'])}</p>",
        '<p>For programs: <a href="/api/v1/openapi.json">openapi.json</a>.</p>',
        "<h2>Operations</h2>",
        *_operations(description),
        "<h2>Schemas</h2>",
        *_schemas(description),
    ]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(description['info']['title'])}</title><style>{STYLE}</style></head>"
        f"<body><main>{''.join(parts)}</main></body></html>"
    )


def _operations(description: dict[str, Any]) -> Iterator[str]:
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            yield f'<section id="{escape(operation["operationId"])}">'
            yield f"<h3><code>{method.upper()} {escape(path)}</code></h3>"
            yield f"<p>{escape(operation.get('description', ''))}</p>"
            rows = [
                (one["name"], one["in"], one.get("description", ""), _type(one["schema"]))
                for one in operation.get("parameters", ())
            ]
            yield _table(("parameter", "in", "meaning", "type"), rows)
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
            if body:
                yield f"<p>Body: {_linked(body['schema'])}</p>"
            yield _table(
                ("status", "answer"),
                [(status, _answer(answer)) for status, answer in operation["responses"].items()],
            )
            yield "</section>"


def _answer(answer: dict[str, Any]) -> str:
    kinds = [
        f"{kind} {_type(content.get('schema', {}))}".strip() for kind, content in answer.get("content", {}).items()
    ]
    return f"{answer['description']}{': ' if kinds else ''}{', '.join(kinds)}"


def _schemas(description: dict[str, Any]) -> Iterator[str]:
    for name, schema in description["components"]["schemas"].items():
        yield f'<section id="schema-{escape(name)}"><h3>{escape(name)}</h3>'
        yield f"<p>{escape(schema.get('description', ''))}</p>"
        needed = schema.get("required", ())
        rows = [
            (field, _type(one), "yes" if field in needed else "", one.get("description", ""))
            for field, one in schema.get("properties", {}).items()
        ]
        yield _table(("field", "type", "required", "meaning"), rows)
        if "example" in schema:
            yield f'<pre tabindex="0">{escape(json.dumps(schema["example"], indent=2))}</pre>'
        yield "</section>"


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    if not rows:
        return ""
    shown = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    titles = "".join(f"<th>{name}</th>" for name in head)
    return f'<div class="wide" tabindex="0"><table><tr>{titles}</tr>{shown}</table></div>'


def _linked(schema: dict[str, Any]) -> str:
    name = _type(schema)
    return f'<a href="#schema-{escape(name)}">{escape(name)}</a>'


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "anyOf" in schema:
        return " or ".join(_type(one) for one in schema["anyOf"])
    if "enum" in schema:
        return ", ".join(map(str, schema["enum"]))
    if schema.get("type") == "array":
        return f"list of {_type(schema['items'])}" if "items" in schema else "list"
    return str(schema.get("type", ""))
