"""Checks of a report's figures: what they show is worked out anew from the page's data and from the summary."""

import math
import re

import polars
from selenium.webdriver.common.keys import Keys

from browser import Failure, expect, expect_none


def is_measured(series):
    return series["look"] == "line" and series["policy"] is not None


def place(axis, value, start, end):
    """Where a value lies between the two ends of an axis; None if it can't be there."""
    if value is None or (axis["log"] and value <= 0):
        return None
    scale = math.log if axis["log"] else float
    return start + (scale(value) - scale(axis["from"])) / (scale(axis["to"]) - scale(axis["from"])) * (end - start)


def points_of(figure):
    """(series, index, x, y) of all points, in units of the viewBox."""
    left, top, right, bottom = figure["frame"]
    for series in figure["series"]:
        for index, (x, y) in enumerate(zip(series["x"], series["y"])):
            spot = place(figure["x"], x, left, right), place(figure["y"], y, bottom, top)
            if None not in spot:
                yield series, index, *spot


def loneliest_point(figure):
    """The measured point farthest from all others: there the mouse can't mean another."""
    points = list(points_of(figure))

    def distance(a, b):
        return abs(a[3] - b[3]) if b[0]["look"] == "control" else math.dist(a[2:], b[2:])

    return max((point for point in points if is_measured(point[0])),
               key=lambda a: min((distance(a, b) for b in points if b is not a), default=math.inf))


def first_curve(page):
    """The first figure of a response over an axis, now shown, and its loneliest point."""
    responses = set(page.summary["response"])
    for figure in page.data["figures"]:
        measured = any(is_measured(series) for series in figure.get("series", []))
        if measured and figure["x"]["name"] in page.summary.columns and figure["y"]["name"] in responses:
            page.show(figure["id"])
            return figure, *loneliest_point(figure)
    raise Failure("no figure shows a response over an axis")


def agrees(shown, exact, digits):
    """Whether the shown number is the exact one rounded to so many significant digits."""
    if exact is None or exact == 0:
        return exact == float(shown)
    return abs(float(shown) - exact) <= 0.51 * 10.0 ** (math.floor(math.log10(abs(exact))) + 1 - digits)


def significant_digits(text):
    return min(max(len(re.sub(r"e.*|[-.]", "", text).lstrip("0")), 1), 6)


def expect_reading(page, figure, series, index, text):
    """The text read off a figure should be the series' name and what the summary has for that point."""
    axis, response, x = figure["x"]["name"], figure["y"]["name"], series["x"][index]
    policy = page.data["policies"][series["policy"]]
    parts = re.search(re.escape(response) + r" (\S+)(?: \((\S+) to (\S+)\))?", text)
    expect(parts and text.startswith(series["name"] + "\n"), f"expected {series['name']} and {response}: {text!r}")
    mean, *bounds = parts.groups()
    has_interval = bool(series.get("low")) and series["low"][index] is not None
    expect((None not in bounds) == has_interval, f"the interval is not the data's: {text!r}")
    rows = page.summary.filter(polars.col("policy") == policy, polars.col("response") == response,
                               (polars.col(axis) - x).abs() <= 1e-5 * abs(x)).to_dicts()

    def is_read(row):
        exact = row["ci_low"], row["ci_high"]
        return agrees(mean, row["mean"], 6) and (not has_interval or all(
            agrees(shown, bound, significant_digits(shown)) for shown, bound in zip(bounds, exact)))

    # Several rows are left where the experiment has other axes too.
    found = any(is_read(row) for row in rows)
    expect(found, f"{text!r} is in none of {len(rows)} rows of the summary for {policy} at {axis} = {x}")


def check_mouse(page):
    figure, series, index, x, y = first_curve(page)
    expect_reading(page, figure, series, index, page.hover(figure["id"], x, y))


def check_arrow_keys(page):
    figure, series, *_ = first_curve(page)
    known = [index for one, index, *_ in points_of(figure) if one is series]
    middle = len(known) // 2
    node = page.one(f"#{figure['id']}")
    page.driver.execute_script("arguments[0].focus()", node)
    node.send_keys(Keys.ARROW_RIGHT)
    for _ in figure["series"]:
        if page.tooltip().split("\n")[0] != series["name"]:
            node.send_keys(Keys.ARROW_DOWN)
    node.send_keys(Keys.HOME, Keys.ARROW_RIGHT * middle)
    expect_reading(page, figure, series, known[middle], page.tooltip())
    node.send_keys(Keys.ESCAPE)
    expect(page.tooltip() == "", "Escape doesn't hide the tooltip")


def check_marks(page):
    for figure in page.data["figures"]:
        if figure.get("marks"):
            page.show(figure["id"])
            x, y, text = figure["marks"][0]
            read = page.hover(figure["id"], x, y)
            expect(read.split() == text.split(), f"the first mark of {figure['id']} is {text!r}, not {read!r}")
            below = [mark for mark in figure["marks"] if mark[1] > y]
            if figure["rows"] and below:
                row = min(mark[1] for mark in below)
                text = min((mark for mark in below if mark[1] == row), key=lambda mark: abs(mark[0] - x))[2]
                page.one(f"#{figure['id']}").send_keys(Keys.HOME, Keys.ARROW_DOWN)
                expect(page.tooltip().split() == text.split(), f"below it is {text!r}, not {page.tooltip()!r}")


def check_policies(page):
    figure, series, _, x, y = first_curve(page)
    page.ask("click", f"#policies input[value='{series['policy']}']")
    policies = {one["id"]: [each["policy"] for each in one.get("series", [])] for one in page.data["figures"]}
    shown = page.ask("shownSeries")
    stays = any(policies[one["figure"]][one["series"]] == series["policy"] for one in shown)
    expect(not stays, "a series of the hidden policy is shown")
    expect(not page.hover(figure["id"], x, y).startswith(series["name"] + "\n"), "a hidden series can still be read")
    page.ask("click", f"#policies input[value='{series['policy']}']")
    expect(len(page.ask("shownSeries")) > len(shown), "the series doesn't come back")


def check_responses(page):
    expect([one["id"] for one in page.ask("figureResponses")] == [one["id"] for one in page.data["figures"]],
           "the figures are not those of the data")
    for place_in_menu, response in enumerate(page.responses()):
        if place_in_menu > 0:
            page.ask("choose", "#response", response)
        for figure in page.ask("figureResponses"):
            expect(figure["shown"] == (figure["response"] in ("", response)), f"{figure['id']} is wrong for {response}")


def check_text(page):
    for response in page.responses():
        page.ask("choose", "#response", response)
        expect_none(page.ask("misplacedText"))
