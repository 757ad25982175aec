// Leader election: the tab that holds the lock sends the notifications of all tabs (lifecycle_channel.js). A click on a
// notification focuses the tab that shows its session, and showing a session closes its notifications.
const { serviceWorker, locks, permissions } = navigator;
let begun = false;

const place = location.pathname.split("/").slice(0, 5).join("/"); // /p/acme/sessions/7, as in service_worker.js
async function look() {
  if (!document.hasFocus()) return;
  for (const each of await (await serviceWorker.ready).getNotifications({ tag: place })) each.close();
}

function begin() {
  if (begun || globalThis.Notification?.permission != "granted" || !serviceWorker || !locks) return;
  begun = true;
  serviceWorker.onmessage = ({ data }) => data != location.pathname && location.assign(data);
  addEventListener("focus", look);
  look();
  locks.request("loopscope-notifications", async () => (await import("./lifecycle_channel.js")).follow());
}

begin();
addEventListener("notify:allowed", begin);
permissions?.query({ name: "notifications" }).then((status) => (status.onchange = begin));
