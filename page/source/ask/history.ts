import { h, keepChildren } from "../shared/dom";
import { asked, question, show } from "./question";
import type { Question } from "./question";

const MOST_SHOWN = 60;
const addresses = new WeakMap<Blob, string>();

function addressOf(blob: Blob): string {
  const address = addresses.get(blob) ?? URL.createObjectURL(blob);
  addresses.set(blob, address);
  return address;
}

const list = h("ul", { class: "history", "aria-label": "Pictures that were asked" });
const keys = new WeakMap<Question, string>();
let numbers = 0;

function keyOf(one: Question): string {
  const key = keys.get(one) ?? String(++numbers);
  keys.set(one, key);
  return key;
}

function make(one: Question): HTMLElement {
  const pick = h("button", { type: "button", click: () => show(one) }, h("img", { class: "thumb", src: addressOf(one.blob), alt: "", width: 40, height: 40 }), h("span", { class: "said" }));
  return h("li", {}, pick);
}

function update(node: HTMLElement, one: Question): void {
  const words = one.error ? "not read" : one.answer?.unknown ? "unknown" : one.answer?.class ?? "…";
  const said = node.querySelector(".said");
  if (said && said.textContent !== words) said.textContent = words;
  node.firstElementChild?.setAttribute("aria-label", `${one.name}: ${words}`);
  node.firstElementChild?.setAttribute("aria-pressed", String(question.value === one));
}

/** Files that were asked, newest first; drawings and the camera are one question each time. */
function draw(): void {
  const files = asked.value.filter((one) => one.series.startsWith("file ")).slice(-MOST_SHOWN).reverse();
  list.hidden = files.length < 2 || !(question.value?.series.startsWith("file ") ?? false);
  if (!list.hidden) keepChildren(list, files, keyOf, make, update);
}

asked.changed(draw);
question.follow(draw);

export const history = list;
