"""The page in a real browser: it loads from disk without an error, and every control does what it says.

Needs Debian's chromium and chromium-driver. Where they are not installed the tests are skipped, unless AUXCAL_BROWSER
is "required".
"""

import base64
import json
import os
import shutil

import numpy as np
import pytest

pytest.importorskip("selenium", reason="the extra dev brings it")

from selenium.webdriver import ActionChains, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.wait import WebDriverWait

from auxcal import compare
from auxcal.report import save_report


def browser_or_none():
    return shutil.which("chromium"), shutil.which("chromedriver")


pytestmark = [
    pytest.mark.xdist_group("browser"),
    pytest.mark.skipif(
        None in browser_or_none() and os.environ.get("AUXCAL_BROWSER") != "required",
        reason="needs chromium and chromedriver (apt-get install chromium chromium-driver)",
    ),
]


@pytest.fixture(scope="module")
def browser(open_browser, tmp_path_factory):
    chromium, driver = browser_or_none()
    assert chromium, "AUXCAL_BROWSER is required, and there is no chromium"
    assert driver, "AUXCAL_BROWSER is required, and there is no chromedriver"
    with open_browser(tmp_path_factory.mktemp("profile")) as chromium:
        yield chromium


@pytest.fixture(scope="module")
def address(comparisons, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    save_report(comparisons, path)
    return path.as_uri()


@pytest.fixture
def page(browser, address, patience):
    """Load the page afresh on a wide, light screen; afterwards nothing may have gone wrong."""
    screen(browser, 1280)
    media(browser, "screen", "light")
    browser.get_log("browser")
    browser.get_log("performance")
    browser.get(address)
    # The last that is drawn.
    WebDriverWait(browser, patience).until(lambda page: one(page, "[data-chart=curve] svg"))
    yield browser
    assert browser.get_log("browser") == []


def screen(browser, width):
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def media(browser, kind, scheme):
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": kind, "features": features})


def one(page, selector):
    """Find an element of the data set that is shown."""
    return page.find_element(By.CSS_SELECTOR, f"article:not([hidden]) {selector}")


def texts(page, selector):
    return [found.text for found in page.find_elements(By.CSS_SELECTOR, f"article:not([hidden]) {selector}")]


def chart(page, name, side):
    return one(page, f"[data-chart={name}] .{side}").get_attribute("innerHTML")


def slide(page, threshold):
    page.execute_script(
        "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input'));",
        one(page, ".threshold"),
        threshold,
    )


def trade(page):
    return {row: tuple(texts(page, f"[data-row={row}] td")) for row in ("coverage", "risk", "wrong")}


def expected_trade(comparison, method, threshold):
    """Return what the picker should show: computed from the confidences themselves, not from the page."""
    (after,) = (entry for entry in comparison.entries if entry.method == method)
    accepted = [entry.confidence >= threshold for entry in (comparison.before, after)]
    wrong = [(~comparison.test.correct & mask).sum() for mask in accepted]
    return {
        "coverage": tuple(f"{mask.mean():.1%}".replace("%", " %") for mask in accepted),
        "risk": tuple(
            f"{errors / mask.sum():.1%}".replace("%", " %") if mask.any() else "–"
            for errors, mask in zip(wrong, accepted, strict=True)
        ),
        "wrong": tuple(f"{errors:,} of {mask.sum():,}" for errors, mask in zip(wrong, accepted, strict=True)),
    }


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "light")])
def test_the_page_of_signals(browser, patience, tmp_path, width, scheme):
    rng = np.random.default_rng(0)
    table = {"score <1>": rng.normal(size=900), "topic": rng.choice(["</script>", "law", "maths"], 900)}
    table["score <1>"][::9] = np.nan
    correct = rng.random(900) < 1 / (1 + np.exp(-2 * np.nan_to_num(table["score <1>"])))
    comparison = compare(table, correct=correct, bootstrap=0)
    comparison.save_report(tmp_path / "report.html")
    screen(browser, width)
    media(browser, "screen", scheme)
    browser.get_log("browser")
    browser.get((tmp_path / "report.html").as_uri())
    WebDriverWait(browser, patience).until(lambda page: one(page, ".samples tbody td"))
    assert texts(browser, ".effect h3") == [each.name for each in comparison.signals]
    drawn = browser.find_elements(By.CSS_SELECTOR, ".signals svg[aria-label^='Confidence and share of right answers']")
    assert len(drawn) == 2
    assert trade(browser) == expected_trade(comparison, "signals", 0.9)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert browser.get_log("browser") == []


def test_it_loads_from_disk_and_asks_for_nothing_else(page, address):
    events = [json.loads(entry["message"])["message"] for entry in page.get_log("performance")]
    asked = {event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"}
    assert address in asked
    assert {url.split(":")[0] for url in asked} <= {"file", "data"}
    assert [url for url in asked if url.startswith("file:")] == [address]


def test_the_answer_is_what_is_seen_first(page, comparisons):
    assert one(page, "h1").text.replace("\n", " ").replace("\u00a0", " ") == str(comparisons[0].answer)
    assert one(page, "h1").location["y"] < 300


def test_every_chart_is_drawn_and_says_what_it_is(page):
    for name in ("reliability", "histogram"):
        assert page.find_elements(By.CSS_SELECTOR, f"article:not([hidden]) [data-chart={name}] .before svg[aria-label]")
    assert one(page, "[data-chart=curve] svg").get_attribute("aria-label")
    assert one(page, ".picker .chart svg").get_attribute("aria-label")


@pytest.mark.parametrize("metric", ["auroc", "ece", "brier"])
def test_the_table_sorts_both_ways(page, comparisons, metric):
    scores = {entry.label: entry.scores[metric] for entry in comparisons[0].entries}
    best_first = sorted(scores.values(), reverse=metric == "auroc")
    if metric != "brier":  # it is sorted by that already
        one(page, f".methods th.{metric} button").click()
    assert [scores[label] for label in texts(page, ".methods tbody th button")] == best_first
    one(page, f".methods th.{metric} button").click()
    assert [scores[label] for label in texts(page, ".methods tbody th button")] == best_first[::-1]


def test_the_table_sorts_with_the_keyboard(page):
    for order in ("descending", "ascending"):
        one(page, ".methods th.auroc button").send_keys(Keys.ENTER)
        assert one(page, ".methods th.auroc").get_attribute("aria-sort") == order


def test_another_method_changes_every_chart_of_the_after_side_and_no_other(page, comparisons):
    names = ("reliability", "histogram")
    before, after = ([chart(page, name, side) for name in names] for side in ("before", "after"))
    curve = chart(page, "curve", "both")
    other = next(entry.method for entry in comparisons[0].ranked[1:] if entry.method != "uncalibrated")
    one(page, f".methods tr[data-method={other}] th button").click()
    assert Select(one(page, "select.method")).first_selected_option.get_attribute("value") == other
    assert one(page, "tr.chosen").get_attribute("data-method") == other
    assert [chart(page, name, "before") for name in names] == before
    assert all(new != old for new, old in zip([chart(page, name, "after") for name in names], after, strict=True))
    assert chart(page, "curve", "both") != curve
    assert trade(page) == expected_trade(comparisons[0], other, 0.9)


@pytest.mark.parametrize("threshold", [0, 0.35, 0.5, 0.731, 0.9, 0.999, 1])
def test_the_picker_shows_what_python_computes(page, comparisons, threshold):
    slide(page, threshold)
    assert trade(page) == expected_trade(comparisons[0], comparisons[0].best.method, threshold)
    wrong_before = expected_trade(comparisons[0], comparisons[0].best.method, threshold)["wrong"][0].split(" ")[0]
    shown = sum(int(text.replace(",", "")) for text in texts(page, ".classes td:nth-child(4)"))
    assert shown == int(wrong_before.replace(",", ""))


def test_dragging_the_line_moves_the_threshold(page):
    chart = one(page, ".picker .chart")
    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", chart)
    drag = ActionChains(page).move_to_element(chart).click_and_hold()
    drag.perform()
    pressed = float(one(page, ".picker .value").text)
    assert pressed == pytest.approx(0.5, abs=0.1)
    drag.move_by_offset(-100, 0).release().perform()
    assert pressed - float(one(page, ".picker .value").text) == pytest.approx(100 / chart.rect["width"], rel=0.2)


def test_an_error_bound_is_kept_by_the_least_threshold_that_keeps_it(page, comparisons):
    one(page, "[data-risk='0.1']").click()
    threshold = float(one(page, ".picker .value").text)
    comparison = comparisons[0]

    def risk(at):
        accepted = comparison.best.confidence >= at
        return 1 - comparison.test.correct[accepted].mean()

    assert risk(threshold) <= 0.1 < risk(threshold - 0.001)
    assert "at most 10 %" in one(page, ".reached").text
    is_promised = "it is promised" in one(page, ".reached").text
    assert ("promised" in one(page, ".picker .chart").text) == is_promised


def test_the_samples_that_are_most_sure_and_wrong_are_named_by_their_row(page, comparisons):
    comparison = comparisons[0]
    wrong = [i for i in range(len(comparison.test)) if not comparison.test.correct[i]]
    for order, entry in (("before", comparison.before), ("after", comparison.best)):
        one(page, f"[data-order={order}]").click()
        first = max(entry.confidence[i] for i in wrong)
        row = int(one(page, ".samples tbody th").text)
        (i,) = (i for i in wrong if comparison.rows[i] == row)
        assert entry.confidence[i] == pytest.approx(first, abs=1e-4)
        assert (
            texts(page, ".samples tbody tr:first-child td")[0] == comparison.class_names[comparison.test.prediction[i]]
        )


def test_the_other_data_set_is_one_press_away(page, comparisons):
    page.find_element(By.CSS_SELECTOR, ".sets [data-set='1']").click()
    assert texts(page, ".eyebrow") == ["autumn"]
    assert trade(page) == expected_trade(comparisons[1], comparisons[1].best.method, 0.9)
    assert chart(page, "reliability", "after")


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_nothing_is_wider_than_the_screen(page, address, width):
    screen(page, width)
    page.get(address)
    assert page.execute_script("return document.documentElement.scrollWidth") <= width
    assert one(page, "[data-chart=reliability] .after svg").rect["width"] <= width


def test_dark_is_dark(page):
    def brightness():
        colour = page.execute_script("return getComputedStyle(document.body).backgroundColor")
        return sum(int(part) for part in colour.strip("rgb()").split(","))

    assert brightness() == 3 * 255
    media(page, "screen", "dark")
    assert brightness() < 120


def test_print_is_light_and_without_controls(page):
    media(page, "print", "dark")
    assert page.execute_script("return getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not one(page, ".shortcuts").is_displayed()
    assert one(page, "[data-chart=reliability] .after svg").is_displayed()
    pdf = base64.b64decode(page.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})["data"])
    assert pdf.startswith(b"%PDF")
