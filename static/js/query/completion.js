// Completion of keys and values in the query box: a combobox with a list box below. Arrow keys choose, tab or enter
// completes, escape closes. The server knows the keys and the recorded values.
import { element } from "../shell/dialog.js";

export function complete(box, input, accepted) {
  const list = element("div", { className: "menu query-completion", role: "listbox", ariaLabel: "Completions" });
  list.id = "query-completion";
  list.hidden = true;
  box.append(list);
  input.setAttribute("aria-controls", list.id);
  input.ariaAutoComplete = "list";
  let found;
  let chosen = -1;
  let pending;

  function close() {
    pending?.abort();
    list.hidden = true;
    input.ariaExpanded = "false";
    input.removeAttribute("aria-activedescendant");
    chosen = -1;
  }

  function choose(next) {
    chosen = (next + list.children.length) % list.children.length;
    for (const [n, option] of [...list.children].entries()) option.ariaSelected = String(n == chosen);
    input.setAttribute("aria-activedescendant", list.children[chosen].id);
    list.children[chosen].scrollIntoView({ block: "nearest" });
  }

  function accept(item) {
    const { value } = input;
    const isValue = !item.text.endsWith(":");
    const text = item.text + (isValue && found.to == value.length && !found.list ? " " : "");
    input.value = value.slice(0, found.from) + text + value.slice(found.to);
    input.setSelectionRange(found.from + text.length, found.from + text.length);
    close();
    if (isValue) accepted();
    else ask();
  }

  function option(item, n) {
    const row = element(
      "div",
      { role: "option", id: `query-completion-${n}`, ariaSelected: "false" },
      element("code", { className: "clip", textContent: item.shown }),
      element("span", { className: "text-faint", textContent: item.note }),
    );
    row.addEventListener("pointerdown", (event) => event.preventDefault());
    row.addEventListener("click", () => accept(item));
    return row;
  }

  async function ask() {
    pending?.abort();
    pending = new AbortController();
    const params = new URLSearchParams({ q: input.value, at: input.selectionStart });
    try {
      const answer = await fetch(`${box.dataset.query}?${params}`, { signal: pending.signal });
      if (!answer.ok || answer.redirected) return close();
      found = await answer.json();
    } catch {
      return;
    }
    if (!found.items.length || document.activeElement != input) return close();
    found.list = input.value.slice(0, found.from).endsWith("[") || input.value.slice(0, found.from).endsWith(",");
    list.replaceChildren(...found.items.map(option));
    list.hidden = false;
    input.ariaExpanded = "true";
    chosen = -1;
  }

  input.addEventListener("input", ask);
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (event.key == "ArrowDown" && list.hidden && !event.altKey) return ask();
    if (list.hidden || event.isComposing) return;
    const step = { ArrowDown: 1, ArrowUp: chosen < 0 ? 0 : -1 }[event.key];
    if (step !== undefined) choose(chosen + step);
    else if (event.key == "Escape") close();
    else if (event.key == "Tab" && !event.shiftKey) accept(found.items[Math.max(chosen, 0)]);
    else if (event.key == "Enter" && chosen >= 0) accept(found.items[chosen]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
}
