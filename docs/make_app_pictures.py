"""Draw docs/guide/app-data.png and app-result.png: the app with its example, in Chromium by Playwright."""

import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

HERE = Path(__file__).parent / "guide"
COLOURS = 256  # of the pictures, which makes them small


def main():
    """Start the app, go the way of the guide, and end it."""
    command = [sys.executable, "-m", "mtcluster", "app", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as app, sync_playwright() as running:
        address = [app.stdout.readline().strip() for _ in range(2)][-1]
        browser = running.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1200, "height": 860})
        page.goto(address)
        page.locator("#example").click()
        page.locator("#findings[aria-busy=false]").wait_for()
        draw(page, "app-data.png")
        page.get_by_label("Number of clusters").fill("3")
        page.get_by_role("button", name="Start").click()
        page.locator("#canvas[data-shown]").wait_for(timeout=120_000)
        page.get_by_label("Name of cluster 0").fill("light")
        page.get_by_label("Name of cluster 0").press("Tab")
        page.locator("[data-name='0'][value=light]").wait_for()
        draw(page, "app-result.png")
        browser.close()
        app.terminate()


def draw(page, name):
    """Save what is seen as a small picture."""
    from PIL import Image

    page.screenshot(path=HERE / name)
    with Image.open(HERE / name) as found:
        found.convert("RGB").quantize(COLOURS).save(HERE / name, optimize=True)


if __name__ == "__main__":
    main()
