// Completes the name of a member after "@" in a note: arrows choose, Enter or Tab takes, Escape closes the list.
const list = document.createElement("ul");
list.className = "mention-list";
list.setAttribute("role", "listbox");
list.setAttribute("aria-label", "Members");
list.id = "mention-list";
let area;

const word = () => /(^|[^\w@.+-])@([\w.+-]*)$/.exec(area.value.slice(0, area.selectionStart))?.[2];
const chosen = () => list.querySelector("[aria-selected=true]");

export function complete(textarea) {
  if (area != textarea) {
    area = textarea;
    area.after(list);
    area.setAttribute("aria-controls", list.id);
    area.addEventListener("keydown", press);
    area.addEventListener("blur", hide);
  }
  const begun = word()?.toLowerCase();
  const found = area.dataset.members.split(" ").filter((name) => begun !== undefined && name.startsWith(begun));
  list.replaceChildren(...found.slice(0, 6).map(option));
  list.hidden = !found.length;
  choose(list.firstElementChild);
}

function option(name, at) {
  const made = document.createElement("li");
  made.id = `mention-${at}`;
  made.textContent = name;
  made.setAttribute("role", "option");
  made.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    take(made);
  });
  return made;
}

function choose(one) {
  chosen()?.setAttribute("aria-selected", "false");
  one?.setAttribute("aria-selected", "true");
  if (one) area.setAttribute("aria-activedescendant", one.id);
  else area.removeAttribute("aria-activedescendant");
}

function take(one) {
  const end = area.selectionStart;
  area.setRangeText(`${one.textContent} `, end - word().length, end, "end");
  hide();
}

function hide() {
  list.hidden = true;
  choose();
}

function press(event) {
  const one = chosen();
  if (list.hidden || !one || event.ctrlKey || event.metaKey) return;
  if (event.key == "ArrowDown") choose(one.nextElementSibling ?? list.firstElementChild);
  else if (event.key == "ArrowUp") choose(one.previousElementSibling ?? list.lastElementChild);
  else if (event.key == "Enter" || event.key == "Tab") take(one);
  else if (event.key == "Escape") hide();
  else return;
  event.preventDefault();
}
