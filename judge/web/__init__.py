"""The pages: HTML over the same store as the API, made on the server and complete without JavaScript.

    routes (problems, submissions, code, comparing, boards, tokens) -> views (results, figures) -> templates
    web/ of the checkout -> esbuild -> dist/    what JavaScript adds; `make web` builds it, nothing needs it

Only the process of the API imports this package.
"""

from judge.api.app import Pages
from judge.web import assets, boards, code, comparing, problems, submissions, tokens
from judge.web.rendering import refused


def pages() -> Pages:
    """Every route, and the page for errors."""
    modules = (problems, code, submissions, comparing, boards, tokens, assets)
    return Pages(tuple(module.router for module in modules), refused)
