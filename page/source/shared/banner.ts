import { line, tryAgain } from "../server/changes";
import type { Line } from "../server/changes";
import { isLocked, offline, project, refresh } from "../server/project";
import { fill, h } from "./dom";
import { counted } from "./words";

/** The state of the server, where it is not the usual one. */
export const banner = h("div", { class: "banner", role: "status", hidden: true });

const again = h("button", { type: "button", click: () => { tryAgain(); void refresh(); } }, "Try now");

function waitingWords({ waiting }: Line): string {
  if (waiting === 0) return "Nothing is lost; this page tries again by itself.";
  return `${counted(waiting, "change")} ${waiting === 1 ? "waits" : "wait"} here and ${waiting === 1 ? "is" : "are"} sent as soon as it is back. Keep this window open.`;
}

function show(): void {
  const state = line.value;
  const words = (title: string, rest: string) => h("p", {}, h("strong", {}, title), ` ${rest}`);
  if (isLocked.value) fill(banner, words("The token is missing or wrong.", `Open ${location.origin}/?token= with the token behind it, which is in the file of --token-file where the server was started.`));
  else if (offline.value || state.trouble === "offline") fill(banner, words("The server does not answer.", waitingWords(state)), again);
  else if (state.trouble === "full") fill(banner, words("The disk is full.", `${state.message} ${counted(state.waiting, "change")} not kept yet: make room, then try again. Keep this window open.`), again);
  else if (state.trouble === "busy") fill(banner, words("The server is busy.", `${state.message} ${waitingWords(state)}`), again);
  else if (project.value?.read_only) fill(banner, words("Read-only.", "You can ask here, but not teach."));
  else fill(banner);
  banner.classList.toggle("warning", isLocked.value || offline.value || state.trouble !== "");
  banner.hidden = banner.childElementCount === 0;
}

export function watchBanner(): void {
  line.changed(show);
  offline.changed(show);
  isLocked.changed(show);
  project.changed(show);
}
