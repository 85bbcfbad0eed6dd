"""Separates device code from the host code of a pasted whole program.

A book's listing ends in a CPU reference and a main() that NVRTC cannot compile and the judge does not
need. They are blanked with spaces, so every line and column of what stays is the submitted one.

What stays: everything marked __device__, __global__, __constant__, __shared__ or constexpr (directly
or through a macro of the file), types, constants, namespaces and macros. What goes: functions without
a mark, includes of host libraries, and unmarked declarations that use host things and that no kept
code mentions. A function called from a kernel without its mark goes too: nvcc would refuse the call,
and compiler/log.py turns the "undefined identifier" into that sentence.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

import tree_sitter_cuda
from tree_sitter import Language, Node, Parser

from judge.submission.comments import Comment, code_only, comments_of
from judge.submission.hostheaders import is_host_header
from judge.submission.model import KernelDefinition

_MARKS = frozenset(
    [
        "__global__",
        "__device__",
        "__constant__",
        "__shared__",
        "__managed__",
        "__grid_constant__",
        "constexpr",
        "consteval",
    ]
)
_HOST_USE = re.compile(
    r"\bstd\s*::(?!\s*(?:size_t|u?int\d+_t|ptrdiff_t|numeric_limits)\b)|\bcu(?:da|blas|rand|dnn)?[A-Z]\w*|\bFILE\b"
)
_WORD = re.compile(r"[A-Za-z_]\w*")
_CONTAINERS = frozenset(
    [
        "translation_unit",
        "namespace_definition",
        "linkage_specification",
        "declaration_list",
        "preproc_if",
        "preproc_ifdef",
        "preproc_else",
        "preproc_elif",
        "preproc_elifdef",
        "ERROR",
    ]
)
_TYPES = frozenset({"struct_specifier", "class_specifier", "union_specifier"})


@dataclass(frozen=True)
class HostCode:
    """What separate() found; the fields are those of Submission."""

    device_source: str
    set_aside: tuple[str, ...]
    notes: tuple[str, ...]
    kernels: tuple[KernelDefinition, ...]
    host_names: tuple[tuple[str, int], ...]
    comments: tuple[Comment, ...]


@dataclass
class _Item:
    """One declaration at namespace level. words: every identifier in it, comments and literals left out."""

    node: Node
    kind: str
    names: tuple[str, ...]
    words: frozenset[str]
    host: bool
    sure: bool
    kernel: bool = False


@dataclass
class _Source:
    data: bytes
    device_macros: frozenset[str] = frozenset()
    kernel_macros: frozenset[str] = frozenset()
    function_macros: frozenset[str] = frozenset()
    items: list[_Item] = field(default_factory=list)

    def text(self, node: Node) -> str:
        return self.data[node.start_byte : node.end_byte].decode("utf-8", "replace")


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_cuda.language()))


def separate(source: str) -> HostCode:
    """Blank the host code of a source."""
    data = source.encode()
    comments = comments_of(source)
    tree = _parser().parse(data)
    found = _Source(data)
    nodes = list(_declarations(tree.root_node))
    _read_macros(found, nodes)
    found.items = [item for node in nodes if (item := _classify(found, node)) is not None]
    directives = frozenset(word for comment in comments if "@" in comment.text for word in _WORD.findall(comment.text))
    aside = _unreferenced_host(found.items, directives)
    return HostCode(
        device_source=_blanked(_with_marked_constexpr(found, nodes), aside),
        set_aside=_report(aside),
        notes=(),
        kernels=tuple(_definition(found, item) for item in found.items if item.kernel),
        host_names=tuple(
            (name, item.node.start_point.row + 1) for item in aside if item.kind != "include" for name in item.names
        ),
        comments=comments,
    )


def _declarations(root: Node) -> Iterator[Node]:
    """Every declaration at namespace level, in order, inside namespaces, extern "C" and #if as well."""
    stack = [root]
    while stack:
        node = stack.pop()
        if node.type in _CONTAINERS:
            stack.extend(reversed(node.children))
        elif node.is_named:
            yield node


def _read_macros(source: _Source, nodes: list[Node]) -> None:
    """Find the macros that stand for a device mark, and those with arguments."""
    bodies: dict[str, frozenset[str]] = {}
    functions = set()
    for node in nodes:
        if node.type not in ("preproc_def", "preproc_function_def"):
            continue
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is None:
            continue
        if node.type == "preproc_function_def":
            functions.add(source.text(name))
        words = frozenset(_WORD.findall(code_only(source.text(value)))) if value else frozenset()
        bodies[source.text(name)] = bodies.get(source.text(name), frozenset()) | words
    source.device_macros = _standing_for(_MARKS, bodies)
    source.kernel_macros = _standing_for(frozenset({"__global__"}), bodies)
    source.function_macros = frozenset(functions)


def _standing_for(words: frozenset[str], bodies: dict[str, frozenset[str]]) -> frozenset[str]:
    """The macros that expand to one of the words, directly or through other macros."""
    found: frozenset[str] = frozenset()
    while new := {name for name, body in bodies.items() if name not in found and body & (words | found)}:
        found |= new
    return found


def _classify(source: _Source, node: Node) -> _Item | None:
    """What a declaration is; None for what always stays and mentions no name (comments, pragmas)."""
    if node.type == "preproc_include":
        return _classify_include(source, node)
    if node.type.startswith("preproc") or node.type == "comment":
        # A macro may name anything, so its words count as mentioned.
        words = frozenset(_WORD.findall(code_only(source.text(node)))) if node.type != "comment" else frozenset()
        return _Item(node, "macro", (), words, host=False, sure=False) if words else None
    inner = _inner(node)
    code = code_only(source.text(node))
    words = frozenset(_WORD.findall(code))
    marks = _MARKS | source.device_macros
    if inner.type == "function_definition":
        name = _function_name(source, inner)
        body = inner.child_by_field_name("body")
        head = source.data[node.start_byte : body.start_byte if body else node.end_byte].decode("utf-8", "replace")
        head_words = set(_WORD.findall(code_only(head)))
        if name is None or name in source.function_macros:
            return _Item(node, "function", (), words, host=False, sure=False)
        # A member defined outside its class carries its mark in either place; the class decides then.
        host = not head_words & marks and "::" not in name
        kernel = "__global__" in head_words or bool(head_words & source.kernel_macros)
        return _Item(node, "function", (name,), words, host, sure=True, kernel=kernel)
    names = tuple(_declared_names(source, inner))
    if words & marks:
        return _Item(node, "declaration", names, words, host=False, sure=False)
    return _Item(node, "declaration", names, words, host=_uses_host(inner, code), sure=False)


def _classify_include(source: _Source, node: Node) -> _Item:
    path = node.child_by_field_name("path")
    name = source.text(path).strip('<>"') if path else ""
    host = is_host_header(name)
    return _Item(node, "include", (f"#include <{name}>",), frozenset(), host, sure=True)


def _inner(node: Node) -> Node:
    """The declaration inside its template<...> heads."""
    while node.type == "template_declaration" and node.named_children:
        node = node.named_children[-1]
    return node


def _function_name(source: _Source, node: Node) -> str | None:
    declarator = node.child_by_field_name("declarator")
    while declarator is not None and declarator.type in (
        "function_declarator",
        "pointer_declarator",
        "reference_declarator",
        "parenthesized_declarator",
    ):
        inner = declarator.child_by_field_name("declarator")
        if inner is None:
            inner = next((child for child in declarator.named_children if child.type != "type_qualifier"), None)
        declarator = inner
    return source.text(declarator).partition("<")[0].strip() if declarator is not None else None


def _definition(source: _Source, item: _Item) -> KernelDefinition:
    declarator = _inner(item.node).child_by_field_name("declarator")
    while declarator is not None and declarator.type != "function_declarator":
        declarator = declarator.child_by_field_name("declarator")
    if declarator is None:
        return KernelDefinition(item.names[0], item.node.start_point.row + 1, ())
    parameters = declarator.child_by_field_name("parameters")
    named = parameters.named_children if parameters is not None else []
    names = tuple(next(_declared_names(source, one), "") for one in named if one.type.endswith("parameter_declaration"))
    return KernelDefinition(item.names[0], declarator.start_point.row + 1, names)


def _declared_names(source: _Source, node: Node) -> Iterator[str]:
    """Names a type, alias or variable declaration introduces."""
    name = node.child_by_field_name("name")
    if name is not None:
        yield source.text(name)
    own_type = node.child_by_field_name("type")
    if own_type is not None and own_type.type in _TYPES:
        yield from _declared_names(source, own_type)
    for declarator in node.children_by_field_name("declarator"):
        found: Node | None = declarator
        while found is not None and found.type not in ("identifier", "type_identifier", "qualified_identifier"):
            found = found.child_by_field_name("declarator") or next(
                (child for child in found.named_children if child.type == "identifier"), None
            )
        if found is not None:
            yield source.text(found)


def _uses_host(node: Node, code: str) -> bool:
    """Whether an unmarked declaration needs what only a host has."""
    if _HOST_USE.search(code):
        return True
    body = node if node.type in _TYPES else node.child_by_field_name("type")
    if body is not None and body.type in _TYPES:
        fields = body.child_by_field_name("body")
        return fields is not None and any(child.type == "function_definition" for child in fields.named_children)
    # A prototype or a variable without a mark; NVRTC takes neither. A constant folds into device code.
    return node.type == "declaration" and not re.match(r"\s*(static\s+|inline\s+)*const\b", code)


def _unreferenced_host(items: list[_Item], directives: frozenset[str]) -> list[_Item]:
    """The items to blank: surely host ones, and doubtful ones that nothing kept mentions."""
    mentioned = set(directives)
    doubtful = []
    for item in items:
        if not item.host:
            mentioned |= item.words
        elif not item.sure:
            doubtful.append(item)
    while wanted := [item for item in doubtful if mentioned.intersection(item.names)]:
        for item in wanted:
            mentioned |= item.words
            item.host = False
        doubtful = [item for item in doubtful if item.host]
    return [item for item in items if item.host]


def _with_marked_constexpr(source: _Source, nodes: list[Node]) -> bytes:
    """The source with `constexp_` in place of `constexpr` where a constexpr function has no mark.

    nvcc takes such a function in constant expressions, NVRTC refuses it as host code. The word is a
    macro of the prelude and as long as the one it replaces.
    """
    data = bytearray(source.data)
    marked = {"__device__", "__global__", "__host__"} | source.device_macros
    stack = list(nodes)
    while stack:
        node = _inner(stack.pop())
        if node.type == "function_definition":
            body = node.child_by_field_name("body")
            # Latin-1 keeps one character a byte, so places stay places.
            head = code_only(
                source.data[node.start_byte : body.start_byte if body else node.end_byte].decode("latin-1")
            )
            found = re.search(r"\bconstexpr\b", head)
            if found and not marked.intersection(_WORD.findall(head)):
                at = node.start_byte + found.start()
                data[at : at + len(_CONSTEXPR)] = _CONSTEXPR
        elif node.type in _TYPES:
            fields = node.child_by_field_name("body")
            stack.extend(fields.named_children if fields is not None else ())
    return bytes(data)


_CONSTEXPR = b"constexp_"


def _blanked(data: bytes, items: list[_Item]) -> str:
    parts = []
    at = 0
    for item in items:
        start, end = max(item.node.start_byte, at), item.node.end_byte
        parts.append(data[at:start].decode())
        parts.append("".join(c if c in "\r\n" else " " for c in data[start:end].decode()))
        at = max(end, at)
    parts.append(data[at:].decode())
    return "".join(parts)


def _report(items: list[_Item]) -> tuple[str, ...]:
    """ "lines 10-20: main" for each piece; neighboring includes share one entry."""
    entries: list[tuple[int, int, str, bool]] = []
    for item in items:
        first = item.node.start_point.row + 1
        last = item.node.end_point.row + (0 if item.node.end_point.column == 0 else 1)
        include = item.kind == "include"
        what = ", ".join(item.names) or "declaration"
        if include and entries and entries[-1][3] and entries[-1][1] + 1 >= first:
            start, _, text, _ = entries[-1]
            entries[-1] = (start, last, f"{text}, {what.removeprefix('#include ')}", True)
        else:
            entries.append((first, max(first, last), what, include))
    return tuple(
        f"lines {first}-{last}: {what}" if last > first else f"line {first}: {what}" for first, last, what, _ in entries
    )
