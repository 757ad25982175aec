// While other results load, those of the page are greyed ([data-loading] on .search-found).
const found = document.querySelector(".search-found");

const grey = () => {
  found.dataset.loading = "";
  found.ariaBusy = "true";
};

function leaves(event) {
  const link = event.target.closest("a[href]");
  if (!link || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return false;
  const to = new URL(link.href);
  return to.pathname == location.pathname && to.search != location.search && !link.target;
}

if (found) {
  addEventListener("submit", ({ target }) => {
    if (target.matches("form.filter-bar")) grey();
  });
  addEventListener("click", (event) => leaves(event) && grey());
  // A page that comes back from the cache of the browser is not loading.
  addEventListener("pageshow", () => {
    delete found.dataset.loading;
    found.ariaBusy = "false";
  });
}
