// Of all open tabs the one that holds the lock notifies for all (lifecycle_channel.js); the others only wait for it. A
// click on a notification comes back to the tab that shows its session, and a session that is looked at needs none any
// more.
const { serviceWorker, locks, permissions } = navigator;
let begun = false;

const place = location.pathname.split("/").slice(0, 5).join("/"); // /p/acme/sessions/7, as service_worker.js has it
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
