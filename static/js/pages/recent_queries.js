// The queries that this browser searched for in a project, the newest first, in localStorage. A page of results adds
// its own; the page without a query lists them.
const MOST = 8;
const key = (slug) => `loopscope:queries:${slug}`;

function read(slug) {
  try {
    const found = JSON.parse(localStorage.getItem(key(slug)));
    return Array.isArray(found) ? found.filter((each) => typeof each == "string") : [];
  } catch {
    return []; // no storage, or something else's value
  }
}

function add(slug, query) {
  const queries = [query, ...read(slug).filter((each) => each != query)].slice(0, MOST);
  try {
    localStorage.setItem(key(slug), JSON.stringify(queries));
  } catch {
    // Without storage there are no recent queries.
  }
}

function link(query) {
  const made = document.createElement("a");
  made.className = "button button-small";
  made.href = `?${new URLSearchParams({ q: query })}`;
  made.dir = "auto";
  made.textContent = query;
  return made;
}

function list(into) {
  const queries = read(into.dataset.recentList);
  if (!queries.length) return;
  const title = document.createElement("h2");
  const row = document.createElement("p");
  title.textContent = "Recent";
  row.className = "row flex-wrap search-recent";
  row.append(...queries.map(link));
  into.append(title, row);
}

const searched = document.querySelector("[data-recent-query]");
if (searched) add(searched.dataset.recentOf, searched.dataset.recentQuery);
for (const into of document.querySelectorAll("[data-recent-list]")) list(into);
