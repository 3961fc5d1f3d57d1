import { classes, pictureCount, project } from "../server/project";
import { check, NoAnswer, Refused } from "../server/request";
import type { Check } from "../server/types";
import { fill, h } from "../shared/dom";
import { Signal } from "../shared/signal";
import { counted } from "../shared/words";
import { confusionTable } from "./confusion";
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

export const checkPanel = h("section", { class: "check panel", "aria-labelledby": "check-title" }, h("div", { class: "panel-head" }, h("h2", { id: "check-title" }, "Check"), words, tabRow), body);

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
  return classes.value.filter((one) => one.pictures > 0).length >= 2 && pictureCount() >= 3;
}

function show(): void {
  for (const [name, tab] of tabs) tab.setAttribute("aria-pressed", String(name === view.value));
  const checked = result.value;
  tabRow.hidden = checked === null;
  if (checked === null) {
    words.textContent = project.value === null ? "" : "needs two classes, one of them with two pictures: each picture is left out in turn and asked.";
    fill(body);
    return;
  }
  const isWrong = new Set(checked.wrong.map((one) => one.id));
  const doubtful = checked.doubtful.filter((one) => !isWrong.has(one.id)).length;
  fill(words, h("strong", {}, `${checked.right} of ${checked.of}`), ` right when left out · ${checked.wrong.length === 0 ? "none wrong" : `${checked.wrong.length} wrong`} · ${counted(doubtful, "doubtful picture")}`);
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
  project.changed(() => {
    clearTimeout(timer);
    timer = window.setTimeout(() => void fetchCheck(), AFTER_MS);
  });
}
