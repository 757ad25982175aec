// The query box ([data-query]): conditions as chips before the words. A hidden field has the whole query, so that
// chips and text are two views of one string. Without this script the field itself is the query.
import { element } from "../shell/dialog.js";
import { join, split } from "./terms.js";

for (const box of document.querySelectorAll("[data-query]")) bind(box);

function bind(box) {
  const input = box.querySelector("input");
  const whole = element("input", { type: "hidden", name: input.name, value: input.value });
  let chips = [];
  let drawn = [];
  input.removeAttribute("name");
  input.setAttribute("role", "combobox");
  input.ariaExpanded = "false";
  input.after(whole);

  const write = () => {
    whole.value = join(chips, input.value);
  };

  // Show a query: its conditions as chips, unless its text is in error.
  function show(text) {
    const found = "invalid" in box.dataset ? { chips: [], words: text } : split(text);
    chips = found.chips;
    input.value = found.words;
    draw();
  }

  function draw() {
    for (const old of drawn) old.remove(); // not the server's, of filters beside the query
    drawn = chips.map(chip);
    input.before(...drawn);
    write();
  }

  function chip(term) {
    const remove = element("button", { type: "button", ariaLabel: `Remove ${term.text}`, textContent: "×" });
    const parts = [element("b", { textContent: `${term.key}:` }), element("span", { textContent: term.value })];
    if (term.not) parts.unshift(element("em", { textContent: "not" }));
    parts[parts.length - 1].className = "clip";
    parts[parts.length - 1].title = term.value;
    remove.addEventListener("click", () => {
      chips = chips.filter((each) => each != term);
      draw();
      input.form.requestSubmit();
    });
    return element("span", { className: "search-token" }, ...parts, remove);
  }

  // Conditions that a space ends become chips; of a pasted text all do.
  function take(all) {
    delete box.dataset.invalid;
    const text = input.value;
    const cut = all ? text.length : text.search(/\S*$/);
    const found = split(text.slice(0, cut));
    if (!found.chips.length || (!all && input.selectionStart < text.length)) return write();
    const rest = [found.words, text.slice(cut)].filter(Boolean).join(" ");
    chips = [...chips, ...found.chips];
    input.value = rest;
    draw();
  }

  input.addEventListener("input", (event) => take(event.inputType == "insertFromPaste"));
  input.addEventListener("keydown", (event) => {
    if (event.key != "Backspace" || input.selectionStart || input.selectionEnd || !chips.length) return;
    event.preventDefault();
    const last = chips.pop();
    input.value = [last.text, input.value].filter(Boolean).join(" ");
    draw();
    input.setSelectionRange(last.text.length, last.text.length);
    input.dispatchEvent(new Event("input", { bubbles: true }));
  });
  input.form.addEventListener("submit", write);
  // Completion loads when the box is used, and completes what was typed until then.
  async function load() {
    const before = input.value;
    (await import("./completion.js")).complete(box, input, () => take(false));
    if (input.value != before) input.dispatchEvent(new Event("input", { bubbles: true }));
  }
  input.addEventListener("focus", load, { once: true });
  if (document.activeElement == input) load();
  show(input.value);

  const { address } = box.dataset; // "?" without parameters
  if (address && address.slice(1) != location.search.slice(1)) history.replaceState(history.state, "", address);
}
