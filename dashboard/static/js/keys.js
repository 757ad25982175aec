// Every key there is. This table makes the help sheet and decides what is a key: pressing one clicks the first [data-key] that
// says it (a field it focuses); where none does, the page's modules hear "key", and preventDefault means "mine".
const KEYS = [
  ["Everywhere", "Mod+k", "Search sessions, evaluations, agents, actions"],
  ["Everywhere", "?", "All keys"],
  ["Everywhere", "/", "Search on this page"],
  ["Everywhere", "t", "Light or dark"],
  ["Everywhere", "\\", "Fold or unfold the navigation"],
  ...[...document.querySelectorAll("[data-key][data-help]")].map(({ dataset }) => ["Everywhere", dataset.key, dataset.help]), // pages
  ["Lists", "j", "Next row"],
  ["Lists", "k", "Previous row"],
  ["Lists", "Enter", "Open the row"],
  ["Sessions", "x", "Select the row, or no longer"],
  ["Sessions", "c", "Compare the two that are selected"],
  ["Sessions", "l", "Pause or resume live"],
  ["A session", "j", "Next loop"],
  ["A session", "k", "Previous loop"],
  ["A session", "h", "Fold the loop, or go to its parent"],
  ["A session", "l", "Unfold the loop"],
  ["A session", "Enter", "Open the loop"],
  ["A session", "1", "Conversation"],
  ["A session", "2", "Timeline"],
  ["A session", "3", "Events"],
  ["A session", "4", "Compactions"],
  ["A session", "5", "JSON"],
  ["A session", "[", "Previous turn"],
  ["A session", "]", "Next turn"],
  ["A session", "e", "Next error"],
  ["A session", "w", "Next winner"],
  ["A session", "c", "Compare branches"],
  ["A session", "y", "Copy the loop's id"],
  ["A session", "f", "Follow the newest"],
  ["A session", "m", "Texts as they were written, or rendered"],
  ["A session", "+", "Timeline: closer"],
  ["A session", "-", "Timeline: wider"],
  ["A session", "0", "Timeline: all of it"],
  ["A session", "Space", "Play what happened, or pause"],
  ["A session", "ArrowLeft", "One event back"],
  ["A session", "ArrowRight", "One event on"],
  ["A session", "Shift+ArrowLeft", "One turn back"],
  ["A session", "Shift+ArrowRight", "One turn on"],
];
const known = new Set(KEYS.map(([, key]) => key));
const FIELDS = "input, textarea, select, [contenteditable], dialog[open]";
let before = ""; // the g of "g s"

function name(event) {
  const { key, ctrlKey, metaKey, altKey, shiftKey } = event;
  const bare = event.getModifierState("AltGraph");
  const held = [(ctrlKey || metaKey) && !bare && "Mod+", altKey && !bare && "Alt+", shiftKey && key.length > 1 && "Shift+"];
  return `${held.filter(Boolean).join("")}${key == " " ? "Space" : key}`;
}

function press(key) {
  const all = [...document.querySelectorAll(`[data-key="${CSS.escape(key)}"]`)];
  const target = all.find((each) => each.checkVisibility()) ?? all[0];
  if (target) target.matches("input") ? target.focus() : target.click();
  return Boolean(target) || !dispatchEvent(new CustomEvent("key", { detail: key, cancelable: true })) || row({ j: 1, k: -1 }[key]);
}

function row(step) {
  const all = step ? [...document.querySelectorAll("[data-row]")] : [];
  const at = all.indexOf(document.activeElement.closest("[data-row]"));
  all[at < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + step, 0), all.length - 1)]?.focus();
  return all.length > 0;
}

addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.isComposing) return;
  const key = before + name(event);
  const isMine = key.startsWith("Mod+") || (document.documentElement.dataset.keys != "off" && !event.target.closest(FIELDS));
  before = isMine && event.key == "g" && !before ? "g " : "";
  if (before) setTimeout(() => (before = ""), 1500);
  // Where Enter, Space and arrows mean something already, they do that.
  if (!isMine || !known.has(key) || key == "Enter" || (key == "Space" && event.target.closest("a, button, summary, [role]"))) return;
  if (press(key)) event.preventDefault();
});

// [data-dialog] opens the palette or the sheet of keys; what draws them loads with the first.
addEventListener("click", async (event) => {
  const opener = event.target.closest("[data-dialog]");
  if (!opener || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  (await import(document.body.dataset.dialogs)).open(opener, KEYS, press);
});
