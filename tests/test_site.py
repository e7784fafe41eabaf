"""The documentation site: it is built without a warning, is whole, and needs no network to be read."""

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
import typer.main

from auxcal.cli import app

pytest.importorskip("mkdocs", reason="the documents need the extra docs")
ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.xdist_group("site")
PUBLIC_MODULES = [
    "auxcal",
    "auxcal.calibrators",
    "auxcal.sklearn",
    "auxcal.report.comparison",
    "auxcal_paper",
    "auxcal_paper.pages",
    "auxcal_paper.suites",
    "auxcal.tables",
    "auxcal.metrics",
    "auxcal.plots",
    "auxcal.report.html",
    "auxcal_paper.shifts",
    "auxcal.testing",
]
NOT_LOADED = {("a", "href"), ("form", "action")}  # what a reader may follow, but a browser does not fetch by itself


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("docs") / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not re.search("warn", done.stdout + done.stderr, re.IGNORECASE), done.stderr
    return folder


class Page(HTMLParser):
    """What a page refers to, and what can be referred to in it."""

    def __init__(self, path):
        super().__init__()
        self.references, self.ids, self.math, self.classes = [], set(), 0, set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        self.math += tag == "math"
        for name, value in attrs:
            if name in ("href", "src", "srcset", "data", "poster", "action"):
                self.references.append((tag, name, value or ""))
            elif name in ("id", "name"):
                self.ids.add(value)
            elif name == "class":
                self.classes.update((value or "").split())


@pytest.fixture(scope="module")
def pages(site):
    return {path: Page(path) for path in site.rglob("*.html")}


def test_no_page_loads_anything_from_the_network(pages):
    loaded = [
        (path.name, value)
        for path, page in pages.items()
        for tag, name, value in page.references
        if (tag, name) not in NOT_LOADED and re.match(r"(\w+:)?//", value)
    ]
    assert not loaded
    # The theme would fetch a script to draw these.
    assert not any("mermaid" in page.classes for page in pages.values())


def test_no_style_loads_anything_from_the_network(site):
    styles = list(site.rglob("*.css"))
    assert styles
    assert not [path for path in styles if re.search(r"(url\(|@import)\s*[\"']?(https?:)?//", path.read_text())]


def test_every_link_leads_somewhere(pages):
    broken = []
    for path, page in pages.items():
        for _, _, value in page.references:
            target, _, anchor = unquote(value).partition("#")
            if re.match(r"\w+:|//", value) or path.name == "404.html":
                continue
            there = (path.parent / target).resolve() if target else path
            if not there.exists() or (anchor and there.suffix == ".html" and anchor not in pages[there].ids):
                broken.append((path.name, value))
    assert not broken


@pytest.mark.parametrize("module", PUBLIC_MODULES)
def test_every_public_name_has_its_place(module, site):
    from mkdocstrings import Inventory

    with (site / "objects.inv").open("rb") as file:
        documented = set(Inventory.parse_sphinx(file))
    assert {f"{module}.{name}" for name in importlib.import_module(module).__all__} - documented == set()


def test_every_command_and_option_is_in_the_reference(site):
    text = (site / "reference/command-line.html").read_text()
    for name, command in typer.main.get_command(app).commands.items():
        assert f'id="{name}"' in text
        for parameter in command.params:
            for option in getattr(parameter, "opts", []):
                assert option in text, f"auxcal {name} {option}"


def test_formulas_are_mathml(site, pages):
    assert pages[site / "explain/ccac.html"].math > 10
    for path in pages:
        assert "arithmatex" not in path.read_text(), path.name


def test_no_reader_sees_how_a_page_is_filled(pages):
    shown = {path: re.sub(r"<!--.*?-->", "", path.read_text(), flags=re.DOTALL) for path in pages}
    sign = r"&lt;!-- \w|<!-- (value|row|columns|table|code):"
    assert not [path.name for path, text in shown.items() if re.search(sign, text)]


BROWSER = pytest.mark.skipif(
    not (shutil.which("chromium") and shutil.which("chromedriver")), reason="needs chromium and chromedriver"
)

# Code scrolls in its own element, and the theme puts a table into one that scrolls.
WIDER_THAN_THE_PAGE = """
return [...document.querySelectorAll("article pre > code, .md-typeset__scrollwrap")]
    .filter(each => each.scrollWidth > each.clientWidth + 1)
    .map(each => each.innerText.slice(0, 60))
"""


@BROWSER
def test_no_code_and_no_table_of_a_guide_scrolls_sideways_on_a_laptop(site, tmp_path, open_browser):
    guides = [
        site / "index.html",
        *(path for kind in ("start", "how-to", "explain") for path in site.glob(f"{kind}/*.html")),
    ]
    with open_browser(tmp_path) as browser:
        browser.set_window_size(1280, 800)
        wide = {}
        for path in guides:
            browser.get(path.as_uri())
            wide[path.name] = browser.execute_script(WIDER_THAN_THE_PAGE)
        assert browser.execute_script("return window.innerWidth") == 1280
    assert len(guides) > 20
    assert not {name: found for name, found in wide.items() if found}


@BROWSER
def test_the_search_answers_from_a_file_and_asks_no_network(site, tmp_path, patience, open_browser):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    with open_browser(tmp_path) as browser:
        browser.get((site / "index.html").as_uri())
        browser.find_element(By.CSS_SELECTOR, "input.md-search__input").send_keys("temperature")
        WebDriverWait(browser, patience).until(lambda b: b.find_elements(By.CSS_SELECTOR, ".md-search-result__link"))
        events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
        loaded = [
            event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"
        ]
        assert any(url.endswith(".css") for url in loaded)
        assert not [url for url in loaded if url.startswith("http")]
        assert not browser.get_log("browser")
