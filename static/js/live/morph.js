// Inserts the frames of the socket: every fragment is a whole panel, found by id and morphed in place. Open details,
// input, selection and scroll position are kept. Large frames are inserted in slices: the page stays responsive.
const SLICE_MS = 8; // half of a 16 ms frame
const READERS = { dialog: ["open"], input: ["value", "checked"], textarea: ["value"], option: ["selected"] };
const touched = new WeakSet(); // details that the user opened or closed
addEventListener("click", (event) => touched.add(event.target.closest?.("summary")?.parentElement ?? event));

const isKept = (name, keep) => keep && (name == "data-keep" || keep.split(" ").includes(name));

const config = {
  // Of another element that has the focus, Idiomorph would not morph what is inside.
  get ignoreActiveValue() {
    return Boolean(document.activeElement?.matches("input, textarea, select"));
  },
  callbacks: {
    beforeAttributeUpdated: (name, el) =>
      !(name == "open" && touched.has(el)) && !READERS[el.localName]?.includes(name) && !isKept(name, el.dataset.keep),
    beforeNodeMorphed(old, fresh) {
      if (old.nodeType == 1)
        return !old.isEqualNode(fresh) && !old.hasAttribute("hx-preserve") && !old.hasAttribute("data-loaded");
      if (old.nodeType != 3 || !fresh.data.startsWith(old.data)) return true;
      // Appending keeps a selection inside the text; replacing the text would not.
      old.appendData(fresh.data.slice(old.length));
      return false;
    },
  },
};

htmx.defineExtension("morph", {
  isInlineSwap: (style) => style == "morph",
  handleSwap: (style, old, fragment) => style == "morph" && Idiomorph.morph(old, fragment.firstElementChild, config),
});

// A new panel names its container and its order in it.
function place(fresh) {
  const into = document.getElementById(fresh.dataset.into);
  if (fresh.dataset.order - into?.dataset.first < 0) return; // it is before the window that the page shows
  let before = into?.lastElementChild;
  while (before && before.dataset.order - fresh.dataset.order > 0) before = before.previousElementSibling;
  before ? before.after(fresh) : into?.prepend(fresh);
}

function swap(fresh) {
  const old = document.getElementById(fresh.id);
  const how = fresh.getAttribute("hx-swap-oob");
  fresh.removeAttribute("hx-swap-oob");
  if (how == "delete") return old?.remove();
  if (old?.isEqualNode(fresh)) return;
  old ? Idiomorph.morph(old, fresh, config) : place(fresh);
  const shown = document.getElementById(fresh.id);
  if (shown) htmx.process(shown);
}

// Fragments that a page fetched itself are inserted in the same way.
addEventListener("live:put", ({ detail: found }) => {
  dispatchEvent(new CustomEvent("live:fresh", { detail: found }));
  for (const fresh of [...found.children]) swap(fresh);
});

async function put(message) {
  const frame = document.createElement("template");
  if (!("paused" in document.body.dataset)) frame.innerHTML = message;
  dispatchEvent(new CustomEvent("live:fresh", { detail: frame.content }));
  const hasNews = Boolean(frame.content.querySelector("[data-announce]"));
  let began = performance.now();
  for (const fresh of [...frame.content.children]) {
    swap(fresh);
    if (performance.now() - began < SLICE_MS || document.hidden) continue;
    await new Promise((go) => setTimeout(go));
    began = performance.now();
  }
  return hasNews;
}

const frames = []; // received, not inserted yet

async function work() {
  while (frames.length) {
    const { message, number, socketWrapper } = frames[0];
    const hasNews = await put(message);
    frames.shift();
    socketWrapper.send(`{"ack":${number}}`);
    dispatchEvent(new CustomEvent("live:frame", { detail: { hasNews } }));
  }
}

addEventListener("htmx:wsBeforeMessage", (event) => {
  const { message, socketWrapper } = event.detail;
  const [, number] = /^<!--frame (\d+)-->/.exec(message) ?? [];
  if (!number) return;
  event.preventDefault();
  if (frames.push({ message, number, socketWrapper }) == 1) work();
});
