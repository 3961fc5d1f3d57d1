import type { Check } from "../server/types";
import { h } from "../shared/dom";

export const NARROW = matchMedia("(max-width: 639px)");

/** With more columns than this, their names are turned to fit. */
const mostUpright = (): number => (NARROW.matches ? 3 : 7);

const MOST_CLASSES = 60;

/** Of very many classes, those that are taken for another or that others are taken for. */
function readable(all: Check["confusion"]): Check["confusion"] {
  if (all.classes.length <= MOST_CLASSES) return all;
  const isMistaken = all.classes.map(() => false);
  all.counts.forEach((row, i) => row.forEach((count, j) => {
    if (i !== j && count > 0) isMistaken[i] = isMistaken[j] = true;
  }));
  const kept = all.classes.flatMap((_, i) => (isMistaken[i] ? [i] : [])).slice(0, MOST_CLASSES);
  return { classes: kept.map((i) => all.classes[i] ?? ""), counts: kept.map((i) => kept.map((j) => all.counts[i]?.[j] ?? 0)) };
}

/** Rows are true classes, columns answers; darker is more of the row. */
export function confusionTable(all: Check["confusion"]): HTMLElement {
  const { classes, counts } = readable(all);
  const head = h("tr", {}, h("td"), ...classes.map((name) => h("th", { scope: "col" }, h("span", { title: name }, name))));
  const rows = counts.map((row, i) => {
    const sum = row.reduce((a, b) => a + b, 0) || 1;
    const cells = row.map((count, j) => cell(count, count / sum, i === j, `${count} of ${classes[i] ?? ""} answered ${classes[j] ?? "unknown"}`));
    return h("tr", {}, h("th", { scope: "row", title: classes[i] ?? "" }, classes[i] ?? ""), ...cells);
  });
  const table = h("table", { class: classes.length > mostUpright() ? "confusion dense" : "confusion" }, h("thead", {}, head), h("tbody", {}, ...rows));
  const left = classes.length < all.classes.length ? ` ${classes.length} of ${all.classes.length.toLocaleString("en")} classes, which are mistaken for each other.` : "";
  const words = h("p", { class: "soft" }, `Rows: what the pictures show. Columns: what was answered.${left}`);
  return h("div", {}, words, h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Confusion" }, table));
}

function cell(count: number, share: number, isRight: boolean, words: string): HTMLElement {
  const made = h("td", { class: isRight ? "right" : "mistake", title: words }, count === 0 ? "·" : String(count));
  made.style.setProperty("--share", String(Math.round(share * 100)));
  return made;
}
