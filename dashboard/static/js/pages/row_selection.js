// Selection of rows to compare ([data-selection]): checkboxes and x, up to data-most. It is kept by id for the tab, so
// that it outlives live updates and paging. Without scripts the checkboxes and the form work alone.
const form = document.querySelector("[data-selection]");
const MOST = Number(form?.dataset.most);
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

// The rows that the page shows may have changed: check those that are selected.
function draw(refused = "") {
  for (const box of boxes()) box.checked = selected.includes(box.value);
  form.toggleAttribute("data-filled", selected.length > 0);
  const hint = refused || (selected.length == 1 ? "Select another to compare." : "");
  const words = selected.length ? [`${selected.length} selected`, hint].filter(Boolean).join(". ") : "";
  const status = form.querySelector("[role=status]");
  if (status.textContent != words) status.textContent = words; // an equal text would be announced again
  form.querySelector("[type=submit]").disabled = selected.length < 2;
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

function toggle(id) {
  if (selected.includes(id)) select(selected.filter((each) => each != id));
  else if (selected.length < MOST) select([...selected, id]);
  else select(selected, `At most ${MOST} can be compared.`);
}

if (form) {
  draw();
  addEventListener("live:frame", () => draw(form.querySelector("[role=status]").textContent.split(". ")[1]));
  addEventListener("pageshow", () => select(stored())); // back from a comparison, or from another page of the list

  addEventListener("change", (event) => {
    if (boxes().includes(event.target)) toggle(event.target.value);
  });

  addEventListener("key", (event) => {
    const box = document.activeElement.closest("[role=row], [role=treeitem]")?.querySelector("[data-select]");
    if (event.detail != "x" || !box) return;
    event.preventDefault();
    toggle(box.value);
  });

  addEventListener("keydown", (event) => {
    if (event.key == "Escape" && !event.defaultPrevented && !event.target.matches("[type=search]")) select([]);
  });

  // The rows in the order in which they were selected, also those of other pages: the first is the base.
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (selected.length > 1) location.assign(`${form.action}?${new URLSearchParams(selected.map((id) => ["of", id]))}`);
  });
  form.addEventListener("reset", (event) => {
    event.preventDefault();
    select([]);
    document.querySelector("[data-select]")?.focus({ preventScroll: true }); // the button is gone
  });
}
