"""A report, opened in a real browser."""

import base64
import json
import os
from pathlib import Path

import polars
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By

FLAGS = ["--headless=new", "--disable-gpu", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--window-size=1280,900"]
PROBES = Path(__file__).with_name("probes.js").read_text(encoding="utf-8")


class Failure(Exception):
    """What a check found wrong."""


def expect(condition, message):
    if not condition:
        raise Failure(message)


def expect_none(problems):
    expect(not problems, f"{len(problems)} found: " + "; ".join(problems[:5]))


def start_browser(profile):
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    root = ["--no-sandbox"] if os.geteuid() == 0 else []
    for flag in [*FLAGS, *root, f"--user-data-dir={profile}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
    driver.set_page_load_timeout(60)
    driver.set_script_timeout(60)
    return driver


class Page:
    """The report's page, the data in it, and the summary that it should agree with."""

    def __init__(self, driver, report, screenshots):
        self.driver, self.screenshots = driver, screenshots
        self.address = (report / "report.html").resolve().as_uri()
        self.summary = polars.read_parquet(report / "summary.parquet")
        self.open()
        self.data = json.loads(self.one("#data").get_attribute("textContent"))

    def open(self):
        """Loads the page afresh, so that no check depends on another."""
        self.driver.get("about:blank")
        self.view()
        self.driver.get(self.address)

    def view(self, width=1280, scheme="light", media="screen"):
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.send("Emulation.setEmulatedMedia", media=media, features=features)

    def send(self, command, **arguments):
        return self.driver.execute_cdp_cmd(command, arguments)

    def ask(self, probe, *arguments):
        """Calls a function of probes.js in the page."""
        return self.driver.execute_script(f"{PROBES}; return {probe}(...arguments)", *arguments)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def responses(self):
        return [option.get_attribute("value") for option in self.all("#response option")]

    def show(self, figure):
        """Chooses the response of a figure, if it has one."""
        response = self.one(f"#{figure}").get_attribute("data-response")
        if response:
            self.ask("choose", "#response", response)

    def tooltip(self):
        return self.one("#tooltip").get_attribute("innerText")

    def hover(self, figure, x, y):
        """Moves the mouse to a point given in units of the figure's viewBox; returns what the page says of it."""
        self.send("Input.dispatchMouseEvent", type="mouseMoved", **self.ask("spotOf", figure, x, y))
        return self.tooltip()

    def save_screenshot(self, name):
        picture = self.send("Page.captureScreenshot", captureBeyondViewport=True)
        (self.screenshots / f"{name}.png").write_bytes(base64.b64decode(picture["data"]))

    def save_pdf(self, name):
        pdf = base64.b64decode(self.send("Page.printToPDF", printBackground=True, preferCSSPageSize=True)["data"])
        (self.screenshots / f"{name}.pdf").write_bytes(pdf)
        return pdf
