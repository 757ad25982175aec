"""Command-line arguments of Chromium in tests and benchmarks; needs no Django."""

# Those that Playwright disables: of two such arguments Chromium reads the last.
OF_PLAYWRIGHT = (
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsUpgrades",
    "HttpsFirstBalancedModeAutoEnable",
    "LensOverlay",
    "MediaRouter",
    "PaintHolding",
    "ThirdPartyStoragePartitioning",
    "AvoidCorsURLLoaderRestartOnRedirect",
    "OptimizationHints",
    "NetworkTimeServiceQuerying",
    "AimEnabled",
    "PreconnectToSearch",
)
# Pages of the address bar, which a new window loads in a process of its own for half of its CPU time.
ADDRESS_BAR = ("WebUIOmniboxPopup", "WebUIOmniboxAimPopup")

ARGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    f"--disable-features={','.join(OF_PLAYWRIGHT + ADDRESS_BAR)}",
]
