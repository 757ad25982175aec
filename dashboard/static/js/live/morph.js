// Puts what the socket sends into the page: every fragment is a whole panel, found by its id and morphed in place. What
// the reader opened, typed, selected or scrolled stays as it is. Between the panels of a large frame the page is drawn
// and keys are heard.
const SLICE_MS = 8; // for the rest of a frame that has 16
const READERS = { dialog: ["open"], input: ["value", "checked"], textarea: ["value"], option: ["selected"] };
const touched = new WeakSet(); // details that the reader opened or closed
addEventListener("click", (event) => touched.add(event.target.closest?.("summary")?.parentElement ?? event));

const isKept = (name, keep) => keep && (name == "data-keep" || keep.split(" ").includes(name));

const config = {
  ignoreActiveValue: true,
  callbacks: {
    beforeAttributeUpdated: (name, el) =>
      !(name == "open" && touched.has(el)) && !READERS[el.localName]?.includes(name) && !isKept(name, el.dataset.keep),
    beforeNodeMorphed(old, fresh) {
      if (old.nodeType == 1)
        return !old.isEqualNode(fresh) && !old.hasAttribute("hx-preserve") && !old.hasAttribute("data-loaded");
      if (old.nodeType != 3 || !fresh.data.startsWith(old.data)) return true;
      // Appending keeps a selection inside the text; setting it would not.
      old.appendData(fresh.data.slice(old.length));
      return false;
    },
  },
};

htmx.defineExtension("morph", {
  isInlineSwap: (style) => style == "morph",
  handleSwap: (style, old, fragment) => style == "morph" && Idiomorph.morph(old, fragment.firstElementChild, config),
});

// A panel that is new on the page names its container and its place in it.
function place(fresh) {
  const into = document.getElementById(fresh.dataset.into);
  if (fresh.dataset.order - into?.dataset.first < 0) return; // the page has left behind what is so far back
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

// What a page asked for itself goes in like what it is sent.
addEventListener("live:put", ({ detail: found }) => {
  dispatchEvent(new CustomEvent("live:fresh", { detail: found }));
  for (const fresh of [...found.children]) swap(fresh);
});

async function put(message) {
  const frame = document.createElement("template");
  if (!("paused" in document.body.dataset)) frame.innerHTML = message;
  dispatchEvent(new CustomEvent("live:fresh", { detail: frame.content }));
  const hasNews = Boolean(frame.content.querySelector("[data-announce], [data-redirect]"));
  let began = performance.now();
  for (const fresh of [...frame.content.children]) {
    swap(fresh);
    if (performance.now() - began < SLICE_MS || document.hidden) continue;
    await new Promise((go) => setTimeout(go));
    began = performance.now();
  }
  return hasNews;
}

const frames = []; // that have come and are not in the page yet

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
