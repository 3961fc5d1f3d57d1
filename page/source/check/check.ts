import { classes, project } from "../server/project";
import { check, NoAnswer, Refused } from "../server/request";
import type { Check } from "../server/types";
import { fill, h } from "../shared/dom";
import { Signal } from "../shared/signal";
import { counted } from "../shared/words";
import { confusionTable, NARROW } from "./confusion";
import { PictureMap } from "./map";
import { nextList } from "./next";

type View = "next" | "map" | "confusion";

const AFTER_MS = 300;
const result = new Signal<Check | null>(null);
const view = new Signal<View>("next");
const map = new PictureMap();
const words = h("p", { class: "check-words" });
const body = h("div", { class: "check-body" });
const tabs = new Map<View, HTMLButtonElement>();
const tabRow = h("div", { class: "tabs", role: "group", "aria-label": "Show" });
for (const [name, title] of [["next", "What to teach next"], ["map", "Map"], ["confusion", "Confusion"]] as const) {
  const tab = h("button", { type: "button", click: () => { view.value = name; } }, title);
  tabs.set(name, tab);
  tabRow.append(tab);
}

/** How well it does, where it is taught: leads to what it gets wrong. */
export const score = h("a", { class: "score", href: "#check-title", hidden: true });

export const checkPanel = h("section", { class: "check panel", "aria-labelledby": "check-title" }, h("div", { class: "panel-head" }, h("h2", { id: "check-title", tabindex: -1 }, "Check"), words, tabRow), body);

let timer = 0;
let abort = new AbortController();

async function fetchCheck(): Promise<void> {
  abort.abort();
  abort = new AbortController();
  const { signal } = abort;
  if (!canCheck()) {
    result.value = null;
    return;
  }
  try {
    result.value = await check(signal);
  } catch (error) {
    if (signal.aborted || error instanceof NoAnswer) return;
    if (!(error instanceof Refused)) throw error;
    result.value = null;
  }
}

/** Somebody has to be left out, and somebody has to stay. */
function canCheck(): boolean {
  return classes.value.filter((one) => one.pictures > 0).length >= 2 && classes.value.some((one) => one.pictures > 1);
}

function notAsked(): string {
  const alone = classes.value.filter((one) => one.pictures === 1).length;
  return alone === 0 ? "" : ` · ${counted(alone, "picture is alone in its class and was", "pictures are alone in their classes and were")} not asked`;
}

function show(): void {
  for (const [name, tab] of tabs) tab.setAttribute("aria-pressed", String(name === view.value));
  const checked = result.value;
  tabRow.hidden = score.hidden = checked === null;
  if (checked === null) {
    words.textContent = project.value === null ? "" : canCheck() ? "Checking …" : "Once there are two classes, one of them with two pictures, this shows how well they are told apart.";
    fill(body);
    return;
  }
  const isWrong = new Set(checked.wrong.map((one) => one.id));
  const doubtful = checked.doubtful.filter((one) => !isWrong.has(one.id)).length;
  const right = `${checked.right.toLocaleString("en")} of ${checked.of.toLocaleString("en")}`;
  score.textContent = `${right} right`;
  fill(words, h("strong", {}, right), ` pictures are recognised · ${checked.wrong.length === 0 ? "none" : checked.wrong.length} wrong${doubtful === 0 ? "" : ` · ${doubtful} doubtful`}${notAsked()}`);
  if (view.value === "next") fill(body, nextList(checked));
  else if (view.value === "confusion") fill(body, confusionTable(checked.confusion));
  else {
    fill(body, map.element);
    map.show(checked);
  }
}

export function watchCheck(): void {
  project.changed(show);
  result.changed(show);
  view.follow(show);
  NARROW.addEventListener("change", show);
  project.changed(() => {
    clearTimeout(timer);
    timer = window.setTimeout(() => void fetchCheck(), AFTER_MS);
  });
}
