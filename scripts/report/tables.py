"""Checks of a report's tables against the data they show."""

import re
import statistics
import tempfile
import time
from collections import Counter
from decimal import Decimal
from pathlib import Path

import polars

from browser import Failure, expect

ROWS_AT_FIRST = 200


def texts_of(column):
    return [None if value is None else column["names"][value] for value in column["values"]]


def row_count(page, table):
    """The first number of "41 of 10 000 rows"."""
    return int(re.sub(r"\s", "", page.one(f"#table-{table['id']} .count").text.split(" of ")[0]))


def expect_count(page, table, expected):
    count = row_count(page, table)
    expect(count == expected, f"{count} rows of {table['id']} are counted, not {expected}")


def varied_numbers(page):
    """A table, the place of a column of numbers that differ, and those numbers."""
    for table in page.data["tables"]:
        for index, column in enumerate(table["columns"]):
            if column["kind"] != "text" and column["name"] != "point" and len(set(column["values"]) - {None}) > 2:
                return table, index, column["values"]
    raise Failure("no table has a column of numbers that differ")


def expect_numbers(page, table, index, expected):
    """The column's cells should show these numbers, to the digits that they show; None is an empty cell."""
    cells = [row[index] for row in page.ask("tableRows", table["id"])]
    expect(len(cells) == min(len(expected), ROWS_AT_FIRST), f"{len(cells)} rows are in the page")
    for cell, value in zip(cells, expected):
        shown = Decimal(cell.split()[0]) if cell else None
        if value is None or shown is None:
            same = value is None and shown is None
        else:
            same = abs(float(shown) - value) <= 0.51 * 10.0 ** shown.as_tuple().exponent
        expect(same, f"a cell is {cell!r}, not {value}")


def check_condition(page):
    table, index, values = varied_numbers(page)
    limit = statistics.median_low(value for value in values if value is not None)
    expected = [value for value in values if value is not None and value <= limit]
    box = page.one(f"#table-{table['id']} input[name=condition]")
    box.send_keys(f"{table['columns'][index]['name']} <= {limit!r}")
    expect_count(page, table, len(expected))
    expect_numbers(page, table, index, expected)
    box.send_keys(" and nonsense")
    message = page.one(f"#table-{table['id']} .message").text
    expect("nonsense" in message, f"a condition that can't be read has the message {message!r}")
    expect(box.get_attribute("aria-invalid") == "true", "a condition that can't be read isn't marked")


def check_text_filter(page):
    for table in page.data["tables"]:
        columns = [texts_of(column) for column in table["columns"] if column["kind"] == "text"]
        counts = Counter(text for texts in columns for text in texts if text)
        if counts:
            rarest = min(counts, key=counts.get)
            sought = rarest.strip().lower()
            page.one(f"#table-{table['id']} input[name=text]").send_keys(rarest)
            expect_count(page, table, sum(any(sought in (text or "").lower() for text in row) for row in zip(*columns)))
            for row in page.ask("tableRows", table["id"]):
                expect(sought in " ".join(row).lower(), f"a row without {rarest!r} is shown")


def check_menus(page):
    for table in page.data["tables"]:
        columns = [texts_of(column) for column in table["columns"] if column["kind"] == "text"]
        chosen = [texts for texts in columns if 2 <= len(set(texts)) <= 30]
        menus = page.all(f"#table-{table['id']} .filters select")
        expect(len(menus) == len(chosen), f"{table['id']} has {len(menus)} menus, not {len(chosen)}")
        if menus:
            first = page.one(f"#table-{table['id']} .filters select option:nth-child(2)")
            page.ask("choose", f"#table-{table['id']} .filters select", first.get_attribute("value"))
            expect_count(page, table, chosen[0].count(chosen[0][0]))


def check_sort(page):
    table, index, values = varied_numbers(page)
    head = page.all(f"#table-{table['id']} thead th")[index]
    known = sorted(value for value in values if value is not None)
    missing = [None] * (len(values) - len(known))
    for direction, order in (("ascending", known), ("descending", known[::-1])):
        page.ask("click", f"#table-{table['id']} th:nth-child({index + 1}) button")
        expect(head.get_attribute("aria-sort") == direction, f"aria-sort isn't {direction}")
        expect_numbers(page, table, index, order + missing)


def check_parts(page):
    for table in page.data["tables"]:
        total = len(table["columns"][0]["values"])
        shown = len(page.ask("tableRows", table["id"]))
        expect(shown == min(total, ROWS_AT_FIRST), f"{table['id']} starts with {shown} rows")
        if total > ROWS_AT_FIRST:
            page.ask("click", f"#table-{table['id']} .more")
            shown = len(page.ask("tableRows", table["id"]))
            expect(shown == min(total, 2 * ROWS_AT_FIRST), f"{table['id']} goes on to {shown} rows")


def check_csv(page):
    table = page.data["tables"][0]
    with tempfile.TemporaryDirectory() as folder:
        page.send("Browser.setDownloadBehavior", behavior="allow", downloadPath=folder)
        page.ask("click", f"#table-{table['id']} .csv")
        file, deadline = Path(folder) / f"{table['id']}.csv", time.monotonic() + 20
        while not file.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        expect(file.exists(), "nothing was downloaded")
        frame = polars.read_csv(file, infer_schema_length=None)
    for column in table["columns"]:
        if column["kind"] != "text" and set(column["values"]) != {None}:
            same = frame[column["name"]].to_list() == column["values"]
            expect(same, f"the file has other values of {column['name']}")


def check_replay(page):
    for table in page.data["tables"]:
        if table["replay"]:
            page.one(f"#table-{table['id']} td.action button").click()
            time.sleep(0.3)  # the clipboard answers later
            field = page.all(f"#table-{table['id']} td.action input")
            shown = field[0].get_attribute("value") if field else page.one(f"#table-{table['id']} td.action").text
            done = shown == "Copied" or shown.startswith(table["replay"] + " --point ")
            expect(done, f"the replay command isn't copied: {shown!r}")
