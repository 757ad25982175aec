// The lifecycle feed: the server renders its rows while the page is open, newest first; the oldest rows are removed.
const KEPT = 100;
const feed = document.querySelector("[data-feed]");
const state = document.querySelector("[data-feed-state]");
const source = new EventSource(feed.dataset.feed);

source.onopen = () => (state.textContent = "Connected");
source.onerror = () =>
  (state.textContent = source.readyState == EventSource.CLOSED ? "Stopped, reload the page" : "Reconnecting");
source.addEventListener("rows", ({ data }) => {
  const rows = document.createElement("template");
  rows.innerHTML = data;
  feed.prepend(...[...rows.content.children].reverse());
  while (feed.children.length > KEPT) feed.lastElementChild.remove();
});
