"""What the pages load: from where it comes, that it is kept by browsers, and what is said where it was not built."""

import gzip
import json
import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from judge.web import assets
from tests.web.site import opened

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = json.loads((ROOT / "web/package-lock.json").read_text(encoding="utf-8"))["packages"]


@pytest.mark.parametrize("name", [name for name in PACKAGES if name])
def test_a_package_of_the_scripts_is_locked_by_its_content_at_the_public_registry(name):
    package = PACKAGES[name]
    assert urlsplit(package["resolved"]).netloc == "registry.npmjs.org"
    assert package["integrity"].startswith("sha512-")


def test_packages_are_named_by_one_version_each():
    wanted = json.loads((ROOT / "web/package.json").read_text(encoding="utf-8"))
    named = wanted["dependencies"] | wanted["devDependencies"]
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in named.values())
    assert {f"node_modules/{name}": version for name, version in named.items()}.items() <= {
        name: package.get("version") for name, package in PACKAGES.items()
    }.items()


def test_the_style_sheet_is_kept_for_good_and_comes_compressed(site):
    path = re.search(r'href="(/static/site-\w+\.css)"', site.get("/").text)[1]
    answer = site.client.get(path, headers={"Accept-Encoding": "gzip"})
    assert answer.headers["content-encoding"] == "gzip"
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    plain = site.client.get(path, headers={"Accept-Encoding": "identity"})
    assert plain.content == answer.content == (assets.STYLES / "site.css").read_bytes()


def test_a_page_comes_compressed_where_that_is_wanted(site):
    with site.client.stream("GET", "/", headers={"Accept-Encoding": "gzip"}) as answer:
        packed = b"".join(answer.iter_raw())
    assert int(answer.headers["content-length"]) == len(packed)
    assert b"<h1>Problems</h1>" in gzip.decompress(packed)


@pytest.fixture
def built(tmp_path, monkeypatch):
    """A folder for the bundle in place of the real one."""
    monkeypatch.setattr(assets, "BUILT", tmp_path / "dist")
    assets.load_assets.cache_clear()
    yield tmp_path / "dist"
    assets.load_assets.cache_clear()


def test_without_the_bundle_the_pages_say_how_to_build_it(built, url, problems):
    with opened(url, problems) as site:
        for path in ("/", "/problems/flash-forward"):
            text = site.get(path).text
            assert "<script" not in text
            assert "make web" in text
        submission = site.submit()
        assert '<meta http-equiv="refresh" content="2">' in site.get(f"/submissions/{submission}").text


def test_a_half_built_bundle_counts_as_none(built):
    built.mkdir()
    (built / "manifest.json").write_text('{"site.js": "site-GONE.js"}')
    assert not assets.load_assets().scripted


def test_only_files_of_known_kinds_are_served(built):
    built.mkdir()
    (built / "manifest.json").write_text('{"site.js": "site-1.js"}')
    (built / "site-1.js").write_text("1")
    (built / "secret.txt").write_text("2")
    found = assets.load_assets()
    assert found.address("site.js") == "/static/site-1.js"
    assert not {"secret.txt", "manifest.json"} & set(found.files)
