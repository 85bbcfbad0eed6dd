"""Small SVG pictures put together by hand: escaped text, no style of their own, colors by the page's classes."""

from collections.abc import Iterable

from markupsafe import Markup, escape

from judge.reports.style import one_line


def tag(name: str, *inside: str, **attributes: str | float | None) -> Markup:
    """An element. inside: text is escaped, Markup is not. class_ and a_b become class and a-b; None is left out."""
    shown = Markup(" ").join(
        Markup('{}="{}"').format(key.rstrip("_").replace("_", "-"), _value(value))
        for key, value in attributes.items()
        if value is not None
    )
    gap = " " if shown else ""
    if not inside:
        return Markup("<{}{}{}/>").format(name, gap, shown)
    return Markup("<{}{}{}>{}</{}>").format(name, gap, shown, Markup("").join(map(_content, inside)), name)


def _content(part: str) -> str:
    return part if isinstance(part, Markup) else escape(one_line(part))


def _value(value: str | float) -> str:
    return f"{value:.6g}" if isinstance(value, float) else one_line(str(value))


def text(x: float, y: float, words: str, class_: str = "", anchor: str | None = None) -> Markup:
    return tag("text", words, x=float(x), y=float(y), class_=class_ or None, text_anchor=anchor)


def picture(
    width: float, height: float, title: str, parts: Iterable[str], class_: str = "picture", role: str = "img"
) -> Markup:
    """The whole: scaled to its place, with a title that says what is to be seen. role: group where it has links."""
    return tag(
        "svg",
        tag("title", title),
        *parts,
        viewBox=f"0 0 {width:g} {height:g}",
        role=role,
        class_=class_,
        aria_label=title,
        width=float(width),
        height=float(height),
    )
