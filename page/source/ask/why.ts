import type { Why } from "../server/types";
import { colourOf } from "../shared/colours";
import { h } from "../shared/dom";
import { thumbnail } from "../shared/thumbnail";
import { counted, distanceText } from "../shared/words";

const MOST_NEIGHBOURS = 3;

/** The nearest taught pictures, how each view voted, what each diagram says, and the distance beside the one beyond which it is unknown. */
export function whyPanel(why: Why): HTMLElement {
  return h("div", { class: "why-panel" }, neighbours(why), votes(why), diagrams(why), distanceLine(why));
}

function neighbours(why: Why): HTMLElement {
  const list = h("ul", { class: "neighbours" });
  for (const near of why.nearest.slice(0, MOST_NEIGHBOURS)) {
    const dot = h("span", { class: "dot" });
    dot.style.background = colourOf(near.class);
    list.append(h("li", {}, thumbnail(near.id, 64), h("span", { class: "near-name" }, dot, near.class), h("span", { class: "soft" }, distanceText(near.distance))));
  }
  return h("section", {}, h("h3", {}, "Nearest pictures and their distances"), list);
}

function votes(why: Why): HTMLElement {
  const strip = h("ul", { class: "votes" });
  for (const { view, class: voted } of why.views) {
    const cell = h("li", { title: `${view}: ${voted}` }, h("span", { class: "unseen" }, voted));
    cell.style.setProperty("--vote", colourOf(voted));
    strip.append(cell);
  }
  const numbers = new Map<string, number>();
  for (const { class: voted } of why.views) numbers.set(voted, (numbers.get(voted) ?? 0) + 1);
  const words = [...numbers].sort((a, b) => b[1] - a[1]).map(([voted, number]) => `${number} ${voted}`).join(", ");
  return h("section", {}, h("h3", {}, `Answers of ${counted(why.views.length, "view")} of the picture`), strip, h("p", { class: "soft", "aria-hidden": "true" }, words));
}

const DIAGRAMS: Record<string, string> = { ridge: "ridge regression", vd: "nearest class mean" };

function diagrams(why: Why): HTMLElement {
  const list = h("ul", { class: "diagrams" });
  for (const { diagram, class: said } of why.diagrams) {
    const dot = h("span", { class: "dot" });
    dot.style.background = colourOf(said);
    list.append(h("li", {}, h("span", { class: "soft" }, DIAGRAMS[diagram] ?? diagram), h("span", { class: "near-name" }, dot, said)));
  }
  return h("section", {}, h("h3", {}, "What each diagram says"), list);
}

function distanceLine({ distance, threshold }: Why): HTMLElement {
  const end = Math.max(distance, threshold) * 1.25 || 1;
  const isFar = distance > threshold;
  const line = h("div", { class: isFar ? "distance far" : "distance", role: "img", "aria-label": `distance ${distanceText(distance)}, unknown beyond ${distanceText(threshold)}` }, h("span", { class: "beyond" }), h("span", { class: "threshold" }), h("span", { class: "marker" }));
  line.style.setProperty("--at", `${(distance / end) * 100}%`);
  line.style.setProperty("--limit", `${(threshold / end) * 100}%`);
  const words = h("p", { class: "soft" }, `Distance ${distanceText(distance)}; unknown beyond ${distanceText(threshold)}.`);
  return h("section", {}, h("h3", {}, isFar ? "Too far from every class" : "Near enough to a class"), line, words);
}
