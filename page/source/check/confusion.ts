import type { Check } from "../server/types";
import { h } from "../shared/dom";

export const NARROW = matchMedia("(max-width: 639px)");

/** With more columns than this, their names are turned to fit. */
const mostUpright = (): number => (NARROW.matches ? 3 : 7);

/** Rows are true classes, columns answers; darker is more of the row. */
export function confusionTable({ classes, counts }: Check["confusion"]): HTMLElement {
  const head = h("tr", {}, h("td"), ...classes.map((name) => h("th", { scope: "col" }, h("span", { title: name }, name))));
  const rows = counts.map((row, i) => {
    const sum = row.reduce((a, b) => a + b, 0) || 1;
    const cells = row.map((count, j) => cell(count, count / sum, i === j, `${count} of ${classes[i] ?? ""} answered ${classes[j] ?? "unknown"}`));
    return h("tr", {}, h("th", { scope: "row", title: classes[i] ?? "" }, classes[i] ?? ""), ...cells);
  });
  const table = h("table", { class: classes.length > mostUpright() ? "confusion dense" : "confusion" }, h("thead", {}, head), h("tbody", {}, ...rows));
  const words = h("p", { class: "soft" }, "Rows: what the pictures show. Columns: what was answered.");
  return h("div", {}, words, h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Confusion" }, table));
}

function cell(count: number, share: number, isRight: boolean, words: string): HTMLElement {
  const made = h("td", { class: isRight ? "right" : "mistake", title: words }, count === 0 ? "·" : String(count));
  made.style.setProperty("--share", String(Math.round(share * 100)));
  return made;
}
