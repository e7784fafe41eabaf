"""Make the pictures of the terminal and of the report for README.md and the documents, from `auxcal demo`.

    python docs/screenshots.py

Needs Debian's chromium and chromium-driver. Every picture is what a user sees; nothing is touched up.
"""

from __future__ import annotations

import base64
import io
import re
import shutil
import tempfile
from contextlib import chdir
from pathlib import Path
from typing import Any
from unittest.mock import patch

from rich.console import Console
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service

from auxcal.cli.demo import demo

IMAGES = Path(__file__).parent / "images"
MOST_BYTES = 400_000

TABLE = "document.querySelector('article:not([hidden]) .methods').closest('section')"
CHARTS = "document.querySelector('article:not([hidden]) .details')"
TRUST = "document.querySelector('article:not([hidden]) .picker')"

SHOTS: dict[str, tuple[int, int, str, str | None]] = {
    "report": (1280, 900, "light", None),
    "report-table": (1280, 900, "light", TABLE),
    "report-charts": (1280, 900, "light", CHARTS),
    "report-dark": (1280, 900, "dark", CHARTS),
    "report-threshold": (1280, 900, "light", TRUST),
    "report-phone": (390, 844, "light", None),
}
"""The width and height of each picture of the report, its colours, and the section that it starts with."""


def record_demo(folder: Path) -> str:
    """Run the demo and return its terminal as SVG."""
    console = Console(record=True, width=80, file=io.StringIO(), highlight=False)
    console.print("$ auxcal demo\n", style="bold")
    with chdir(folder), patch.dict(demo.__globals__, console=lambda: console):
        demo()
    svg = console.export_svg(title="auxcal demo", clear=False)
    # The fonts would come from the network; the machine's own monospaced one does as well.
    return re.sub(r"@font-face\s*{.*?}", "", svg, flags=re.DOTALL).replace("Fira Code", "monospace")


def open_browser(profile: str) -> Chrome:
    """Return a browser without a window."""
    options = ChromeOptions()
    options.binary_location = shutil.which("chromium") or "chromium"
    for switch in ("headless=new", "no-sandbox", "disable-gpu", "hide-scrollbars", f"user-data-dir={profile}"):
        options.add_argument(f"--{switch}")
    return Chrome(options=options, service=Service(shutil.which("chromedriver")))


def take(browser: Chrome, name: str, **clip: Any) -> None:
    """Write what the browser shows, or a part of it, as a picture."""
    options = {"clip": {"x": 0, "y": 0, "scale": 1, **clip}, "captureBeyondViewport": True} if clip else {}
    picture = base64.b64decode(browser.execute_cdp_cmd("Page.captureScreenshot", options)["data"])
    if len(picture) > MOST_BYTES:
        raise SystemExit(f"{name}.png has {len(picture):,} bytes, and may have {MOST_BYTES:,}. Make it smaller.")
    (IMAGES / f"{name}.png").write_bytes(picture)


def shoot_terminal(browser: Chrome, svg: str, folder: Path) -> None:
    """Take the picture of the terminal."""
    page = folder / "terminal.html"
    page.write_text(f"<!doctype html><meta charset=utf-8><body style='margin:0'>{svg}", encoding="utf-8")
    set_screen(browser, 1000, 900, "light")
    browser.get(page.as_uri())
    size = "return document.querySelector('svg').getBoundingClientRect()"
    box = browser.execute_script(size)
    take(browser, "terminal", width=box["width"], height=box["height"])


def set_screen(browser: Chrome, width: int, height: int, scheme: str) -> None:
    """Give the browser a screen and a colour scheme."""
    metrics = {"width": width, "height": height, "deviceScaleFactor": 2 if width < 500 else 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def main() -> None:
    """Run the demo and take all pictures."""
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        svg = record_demo(folder)
        with open_browser(str(folder / "profile")) as browser:
            shoot_terminal(browser, svg, folder)
            for name, (width, height, scheme, start) in SHOTS.items():
                set_screen(browser, width, height, scheme)
                browser.get((folder / "report.html").as_uri())
                if start:
                    browser.execute_script(f"{start}.scrollIntoView()")
                take(browser, name)


if __name__ == "__main__":
    main()
