// The section on notifications: shows the browser's permission, requests it on a click only, and sends a test.
const section = document.querySelector("[data-notifications]");
const { serviceWorker, locks, permissions, userAgent } = navigator;
const result = section.querySelector("[data-tested]");

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
      body: "This is a test notification.",
      tag: "test",
      renotify: true,
      data: pathname,
    });
    result.textContent = "Sent. If nothing appeared, your system blocks this browser's notifications.";
  }
});

show();
permissions?.query({ name: "notifications" }).then((status) => (status.onchange = show));
