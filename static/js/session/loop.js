// The loop of a session page: its URL, the keys of jumps.js and the zoom of the timeline, which load on first use.
const pane = document.querySelector("#loop-scroll");

// The URL of a session without a loop shows its default loop; add the loop so that a reload shows the same one.
if (/\/sessions\/\d+$/.test(location.pathname) && Number(pane?.dataset.loop)) {
  history.replaceState(
    history.state,
    "",
    `${location.pathname}/loops/${pane.dataset.loop}${location.search}${location.hash}`,
  );
}

// On narrow windows the panes are side by side: a URL with a tab of the loop scrolls to the loop.
if (!location.hash && new URLSearchParams(location.search).has("tab")) document.querySelector("#loop").scrollIntoView();

addEventListener("key", async (event) => {
  if (!pane || !["[", "]", "e", "w"].includes(event.detail)) return;
  event.preventDefault();
  (await import("./jumps.js")).press(event.detail);
});

// Loads as soon as a pointer is on the page, so that it is there before a drag begins.
addEventListener("pointerover", () => document.querySelector("[data-timeline]") && import("./timeline_zoom.js"));
