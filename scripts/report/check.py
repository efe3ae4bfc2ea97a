#!/usr/bin/env python3
"""Checks a report in a real browser: check.py REPORT_DIR SCREENSHOT_DIR

REPORT_DIR has report.html and summary.parquet. Needs Debian's chromium and chromium-driver and, of PyPI, selenium and
polars. Leaves pictures of the page in SCREENSHOT_DIR; exits with 1 if any check fails.
"""

import json
import re
import signal
import sys
import tempfile
from pathlib import Path

import figures
import tables
from browser import Failure, Page, expect, expect_none, start_browser

TIME_LIMIT_SECONDS = 300


def check_colors(page):
    backgrounds = set()
    for scheme in ("light", "dark"):
        page.view(scheme=scheme)
        page.save_screenshot(scheme)
        backgrounds.add(page.ask("background"))
        expect_none([f"{scheme}: {problem}" for problem in page.ask("lowContrast")])
    expect(len(backgrounds) == 2, "the dark page has the background of the light one")


def check_print(page):
    page.view(width=690, scheme="dark", media="print")  # about the width of A4 between margins
    expect_none(page.ask("shownControls"))
    expect_none(page.ask("clippedElements"))
    expect(not page.ask("scrollsSideways"), "the printed page is too wide")
    expect(page.ask("background") == "rgb(255, 255, 255)", f"the printed page is {page.ask('background')}")
    for figure in page.all("figure"):
        expect(figure.value_of_css_property("break-inside") == "avoid", "a figure may be split between pages")
    page.view(width=1017, media="print")  # about the width of A4 on its side, on which tables are printed
    for table in page.all("#tables table"):
        size = table.value_of_css_property("font-size")
        expect(float(size.removesuffix("px")) >= 8, f"a table is printed in letters of {size}")
    page.view(scheme="dark", media="")
    expect(re.search(rb"/Type\s*/Page\b", page.save_pdf("print")), "the PDF has no page")


def check_widths(page):
    for width in (1280, 360):
        page.view(width=width)
        expect(not page.ask("scrollsSideways"), f"the page scrolls sideways at {width} px")
    page.save_screenshot("narrow")


def check_names(page):
    controls = [node for node in page.all("input, select, button") if node.is_displayed()]
    expect_none([node.get_attribute("outerHTML")[:80] for node in controls if not node.accessible_name.strip()])
    images = page.all("svg, img")
    expect_none([node.get_attribute("outerHTML")[:80] for node in images if not node.get_attribute("aria-label")])
    expect(page.one("html").get_attribute("lang"), "the page has no language")


def check_headings(page):
    levels = page.ask("headingLevels")
    expect(levels[0] == 1 and levels.count(1) == 1, f"there should be one h1, and first: {levels}")
    expect(all(lower <= upper + 1 for upper, lower in zip(levels, levels[1:])), f"a level is skipped: {levels}")


def check_addresses(page):
    expect_none(page.ask("outsideAddresses"))


def check_requests(page):
    messages = [json.loads(entry["message"])["message"] for entry in page.driver.get_log("performance")]
    sent = [message["params"] for message in messages if message["method"] == "Network.requestWillBeSent"]
    urls = {message["request"]["url"] for message in sent}
    expect(page.address in urls, "the browser kept no record of its requests")
    # The new tab that the browser starts with is its own.
    expect_none(sorted(url for url in urls - {page.address} if not url.startswith(("data:", "blob:", "chrome:"))))


def check_console(page):
    entries = page.driver.get_log("browser")
    expect_none([entry["message"] for entry in entries if entry["level"] in ("SEVERE", "WARNING")])


# The last two look back at what all the others made the page do.
CHECKS = {
    "each response shows its figures": figures.check_responses,
    "the mouse reads a mean and its interval": figures.check_mouse,
    "the arrow keys read them too": figures.check_arrow_keys,
    "the mouse reads marks": figures.check_marks,
    "a policy can be hidden": figures.check_policies,
    "the text of figures stays inside and apart": figures.check_text,
    "a condition filters the rows": tables.check_condition,
    "a text filters the rows": tables.check_text_filter,
    "a menu filters the rows": tables.check_menus,
    "a column sorts the rows": tables.check_sort,
    "a long table is shown in parts": tables.check_parts,
    "a table can be downloaded": tables.check_csv,
    "a replay command can be copied": tables.check_replay,
    "both colour schemes can be read": check_colors,
    "the page can be printed": check_print,
    "no width scrolls sideways": check_widths,
    "controls and images have names": check_names,
    "headings are in order": check_headings,
    "no address leads outside": check_addresses,
    "nothing else was requested": check_requests,
    "the console stayed silent": check_console,
}


def run_checks(page):
    failures = 0
    for name, check in CHECKS.items():
        try:
            page.open()
            check(page)
            print(f"ok    {name}", flush=True)
        except Exception as problem:
            failures += 1
            print(f"FAIL  {name}: {problem if isinstance(problem, Failure) else repr(problem)}", flush=True)
    return failures


def stop(*_):
    sys.exit(f"report check: not done in {TIME_LIMIT_SECONDS} s")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    report, screenshots = map(Path, sys.argv[1:])
    screenshots.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGALRM, stop)
    signal.alarm(TIME_LIMIT_SECONDS)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        driver = start_browser(profile)
        try:
            failures = run_checks(Page(driver, report, screenshots))
        finally:
            driver.quit()
    if failures:
        sys.exit(f"report check: {failures} of {len(CHECKS)} checks failed")
    print(f"report check: all {len(CHECKS)} checks passed")


if __name__ == "__main__":
    main()
