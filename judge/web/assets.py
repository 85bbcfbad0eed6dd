"""Styles, scripts and fonts: served by us, named by their content so that a browser keeps them for good.

styles/site.css   committed, needed
dist/             built by `make web`; without it the pages do without JavaScript and say so
"""

import gzip
import hashlib
import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from fastapi import APIRouter, Request, Response

from judge.api.errors import Refusal

FOLDER = Path(__file__).resolve().parent
STYLES, BUILT = FOLDER / "styles", FOLDER / "dist"
KINDS = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
}
_PACKED = {".css", ".js", ".svg"}
_FOREVER = "public, max-age=31536000, immutable"

router = APIRouter()


@dataclass(frozen=True)
class Asset:
    """packed: the same in gzip, None where that gains nothing."""

    data: bytes
    packed: bytes | None
    kind: str


@dataclass(frozen=True)
class Assets:
    """files: by the name in the address. named: from the name in a template to that."""

    files: dict[str, Asset]
    named: dict[str, str]

    @property
    def scripted(self) -> bool:
        """Whether the bundle is there."""
        return "site.js" in self.named

    def address(self, name: str) -> str:
        """Raises KeyError for what is not there."""
        return f"/static/{self.named[name]}"


@lru_cache(maxsize=1)
def load_assets() -> Assets:
    """Read everything once; a build that is half done counts as none."""
    files, named = {}, {}
    for path in sorted(STYLES.iterdir()):
        data = path.read_bytes()
        name = f"{path.stem}-{hashlib.sha256(data).hexdigest()[:12]}{path.suffix}"
        files[name], named[path.name] = _asset(data, path.suffix), name
    manifest = BUILT / "manifest.json"
    if manifest.is_file():
        for path in BUILT.iterdir():
            if path.suffix in KINDS:
                files[path.name] = _asset(path.read_bytes(), path.suffix)
        entries = json.loads(manifest.read_text(encoding="utf-8"))
        named |= {name: built for name, built in entries.items() if built in files}
    return Assets(files, named)


def _asset(data: bytes, suffix: str) -> Asset:
    packed = gzip.compress(data, 9, mtime=0) if suffix in _PACKED else None
    return Asset(data, packed, KINDS[suffix])


@router.get("/static/{name}")
def static(request: Request, name: str) -> Response:
    """A file by its name; no path is made of it."""
    found = load_assets().files.get(name)
    if found is None:
        raise Refusal("not_found", "No such file. Load the page anew: the server was changed.")
    headers = {"Cache-Control": _FOREVER, "Vary": "Accept-Encoding"}
    if found.packed is not None and "gzip" in request.headers.get("accept-encoding", ""):
        return Response(found.packed, media_type=found.kind, headers={**headers, "Content-Encoding": "gzip"})
    return Response(found.data, media_type=found.kind, headers=headers)


@router.get("/favicon.ico")
def icon() -> Response:
    """None; the answer keeps browsers from asking again."""
    return Response(status_code=204, headers={"Cache-Control": "public, max-age=86400"})
