// Selection of rows ([data-selection]): checkboxes, x, and with Shift all rows from the one before. Up to data-most are
// compared, up to data-limit selected. It is kept by id for the tab, so that it outlives live updates and paging.
// Without scripts the checkboxes and the form work alone.
const form = document.querySelector("[data-selection]");
const MOST = Number(form?.dataset.most);
const LIMIT = Number(form?.dataset.limit ?? MOST);
const KEY = `selection ${form?.action}`;
const boxes = () => [...document.querySelectorAll("[data-select]")];

function stored() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY)).filter((id) => /^\d+$/.test(id));
  } catch {
    return []; // nothing is stored, or nothing can be
  }
}

let selected = form ? stored() : [];
let last = ""; // the row where a range starts

// The rows that the page shows may have changed: check those that are selected.
function draw(refused = "") {
  for (const box of boxes()) box.checked = selected.includes(box.value);
  form.toggleAttribute("data-filled", selected.length > 0);
  const most = selected.length > MOST ? `At most ${MOST} can be compared.` : "";
  const hint = refused || (selected.length == 1 ? "Select another to compare." : most);
  const words = selected.length ? [`${selected.length} selected`, hint].filter(Boolean).join(". ") : "";
  const status = form.querySelector("[role=status]");
  if (status.textContent != words) status.textContent = words; // an equal text would be announced again
  const compare = form.querySelector("[data-compare]") ?? form.querySelector("[type=submit]");
  compare.disabled = selected.length < 2 || selected.length > MOST;
}

function select(ids, refused) {
  selected = ids;
  try {
    sessionStorage.setItem(KEY, JSON.stringify(selected));
  } catch {
    // The selection lasts as long as the page.
  }
  draw(refused);
}

function add(ids) {
  const more = ids.filter((id) => !selected.includes(id));
  const kept = more.slice(0, Math.max(0, LIMIT - selected.length));
  const refused = `At most ${LIMIT} can be ${LIMIT > MOST ? "selected" : "compared"}.`;
  select([...selected, ...kept], kept.length < more.length ? refused : "");
}

function toggle(id, isRange) {
  const ids = boxes().map((box) => box.value);
  const [from, to] = [ids.indexOf(last), ids.indexOf(id)].sort((a, b) => a - b);
  last = id;
  if (isRange && from >= 0) add(ids.slice(from, to + 1));
  else if (selected.includes(id)) select(selected.filter((each) => each != id));
  else add([id]);
}

if (form) {
  draw();
  addEventListener("live:frame", () => draw(form.querySelector("[role=status]").textContent.split(". ")[1]));
  addEventListener("pageshow", () => select(stored())); // back from a comparison, or from another page of the list

  let isShift = false;
  addEventListener("click", (event) => (isShift = event.shiftKey), true); // a change event does not say
  addEventListener("change", (event) => {
    if (boxes().includes(event.target)) toggle(event.target.value, isShift);
  });

  addEventListener("key", (event) => {
    const box = document.activeElement.closest("[role=row], [role=treeitem]")?.querySelector("[data-select]");
    if (!["x", "X"].includes(event.detail) || !box) return;
    event.preventDefault();
    toggle(box.value, event.detail == "X");
  });

  addEventListener("keydown", (event) => {
    if (event.key == "Escape" && !event.defaultPrevented && !event.target.matches("[type=search]")) select([]);
  });

  // The rows in the order in which they were selected, also those of other pages: the first is the base.
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const action = event.submitter?.getAttribute("formaction") ?? form.action;
    location.assign(`${action}?${new URLSearchParams(selected.map((id) => ["of", id]))}`);
  });
  form.addEventListener("reset", (event) => {
    event.preventDefault();
    select([]);
    document.querySelector("[data-select]")?.focus({ preventScroll: true }); // the button is gone
  });
}
