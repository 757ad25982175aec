// Service worker: shows the notifications that a page sends, unless a focused tab shows the session; a click opens the
// session.
const AT_MOST = 3; // shown one by one; more are shown as a count
const place = (url) => new URL(url, location).pathname.split("/").slice(0, 5).join("/"); // /p/acme/sessions/7
const pages = () => clients.matchAll({ type: "window", includeUncontrolled: true });

async function show(notes) {
  const focused = (await pages()).filter((page) => page.focused).map((page) => place(page.url));
  const unseen = notes.filter(({ url }) => (url ? !focused.includes(place(url)) : !focused.length));
  const isMany = unseen.length > AT_MOST;
  const several = () => ({
    title: `${unseen.length} sessions need a look`,
    url: unseen[0].url?.replace(/sessions.*/, "attention"),
  });
  const shown = (isMany ? [several()] : unseen).map(({ title, says, url = "/" }) =>
    registration.showNotification(title, { body: says, tag: place(url), renotify: !isMany, data: url }),
  );
  await Promise.all(shown);
}

async function attend(url) {
  const page = (await pages()).find((each) => place(each.url) == place(url));
  if (!page) return clients.openWindow(url);
  page.postMessage(url);
  return page.focus();
}

addEventListener("install", () => skipWaiting());
addEventListener("message", (event) => event.waitUntil(show(event.data)));
addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(attend(event.notification.data));
});
