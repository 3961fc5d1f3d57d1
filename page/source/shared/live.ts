import { h } from "./dom";

/** What screen readers hear; a drawing's answers come faster than anybody could listen, so the last one wins. */
const region = h("div", { id: "live", class: "unseen", role: "status", "aria-live": "polite" });
let waiting = 0;

export const liveRegion = region;

export function announce(words: string, afterMs = 0): void {
  clearTimeout(waiting);
  waiting = window.setTimeout(() => {
    region.textContent = words;
  }, afterMs);
}
