// Of all open tabs the one that holds the lock notifies for all (channel.js); the others only wait for it. A click on a
// notification comes back to the tab that shows its session.
const { serviceWorker, locks, permissions } = navigator;
let begun = false;

function begin() {
  if (begun || globalThis.Notification?.permission != "granted" || !serviceWorker || !locks) return;
  begun = true;
  serviceWorker.onmessage = ({ data }) => data != location.pathname && location.assign(data);
  locks.request("loopscope-notifications", async () => (await import(document.body.dataset.channel)).follow());
}

begin();
addEventListener("notify:allowed", begin);
permissions?.query({ name: "notifications" }).then((status) => (status.onchange = begin));
