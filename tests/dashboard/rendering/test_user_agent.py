"""Names of browsers in the list of open sign-ins."""

import pytest

from dashboard.rendering.user_agent import browser

WEBKIT = "AppleWebKit/537.36 (KHTML, like Gecko)"
CHROME = f"Mozilla/5.0 (X11; Linux x86_64) {WEBKIT} Chrome/140.0.0.0 Safari/537.36"
IPHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)"


@pytest.mark.parametrize(
    ("header", "name"),
    [
        (CHROME, "Chrome on Linux"),
        (CHROME.replace("Chrome/", "HeadlessChrome/"), "Chrome on Linux"),
        (CHROME.replace("X11; Linux x86_64", "X11; CrOS x86_64 16181.61.0"), "Chrome on ChromeOS"),
        (
            CHROME.replace("X11; Linux x86_64", "Windows NT 10.0; Win64; x64") + " Edg/140.0",
            "Edge on Windows",
        ),
        (CHROME.replace("X11; Linux x86_64", "Linux; Android 10; K"), "Chrome on Android"),
        (CHROME + " OPR/120.0.0.0", "Opera on Linux"),
        (
            "Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:142.0) Gecko/20100101 Firefox/142.0",
            "Firefox on macOS",
        ),
        (f"{IPHONE} Version/18.5 Mobile/15E148 Safari/604.1", "Safari on iOS"),
        (f"{IPHONE} CriOS/140.0 Mobile/15E148 Safari/604.1", "Chrome on iOS"),
        ("curl/8.14.1", "curl"),
        ("", "unknown"),
        ("  ", "unknown"),
    ],
)
def test_a_browser_is_named_with_its_system(header, name):
    assert browser(header) == name
