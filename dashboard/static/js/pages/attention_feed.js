// The lifecycle feed: rows come drawn from the server while the page is open, newest first; older ones go.
const KEPT = 100;
const feed = document.querySelector("[data-feed]");
const state = document.querySelector("[data-feed-state]");
const source = new EventSource(feed.dataset.feed);

source.onopen = () => (state.textContent = "Listening");
source.onerror = () =>
  (state.textContent = source.readyState == EventSource.CLOSED ? "Stopped, reload the page" : "Reconnecting");
source.addEventListener("rows", ({ data }) => {
  const rows = document.createElement("template");
  rows.innerHTML = data;
  feed.prepend(...[...rows.content.children].reverse());
  while (feed.children.length > KEPT) feed.lastElementChild.remove();
});
