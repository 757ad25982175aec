// The section on notifications: says whether this browser may notify, asks on a click and only then, and shows a test.
const section = document.querySelector("[data-notifications]");
const { serviceWorker, locks, permissions, userAgent } = navigator;
const said = section.querySelector("[data-tested]");

const browser = /Firefox/.test(userAgent) ? "firefox" : /Chrom/.test(userAgent) ? "chrome" : "safari";
for (const way of section.querySelectorAll("[data-browser]")) way.hidden = way.dataset.browser != browser;

function show() {
  const able = globalThis.Notification && serviceWorker && locks;
  const state = !isSecureContext ? "insecure" : able ? Notification.permission : "unsupported";
  for (const each of section.querySelectorAll("[data-permission]"))
    each.hidden = !each.dataset.permission.split(" ").includes(state);
}

section.addEventListener("click", async ({ target }) => {
  if (target.closest("[data-ask]")) {
    await Notification.requestPermission();
    dispatchEvent(new Event("notify:allowed"));
    show();
  } else if (target.closest("[data-test]")) {
    const { pathname } = location;
    const worker = await serviceWorker.ready;
    await worker.showNotification("Loopscope", {
      body: "This is how it looks.",
      tag: "test",
      renotify: true,
      data: pathname,
    });
    said.textContent = "Sent. If nothing appeared, your system keeps this browser's notifications quiet.";
  }
});

show();
permissions?.query({ name: "notifications" }).then((status) => (status.onchange = show));
