import type { Check, Doubted } from "../server/types";
import { h } from "../shared/dom";
import { openPicture } from "../shared/picture_dialog";
import { thumbnail } from "../shared/thumbnail";
import { counted, percent } from "../shared/words";

const MOST_SHOWN = 24;

/** Where one more picture helps most: what it gets wrong, then what it doubts. */
export function nextList({ wrong, doubtful }: Check): HTMLElement {
  const isListed = new Set(wrong.map((one) => one.id));
  const all = [...wrong.map((one) => item(one, true)), ...doubtful.filter((one) => !isListed.has(one.id)).map((one) => item(one, false))];
  if (all.length === 0) return h("p", { class: "soft" }, "Nothing stands out: every picture is recognised. Teach another class, or ask something difficult.");
  const more = all.length - MOST_SHOWN;
  return h("div", {}, h("p", { class: "soft next-words" }, "Each picture is asked as if it had not been taught. One or two more like these help most."), h("ul", { class: "next" }, ...all.slice(0, MOST_SHOWN)), more > 0 ? h("p", { class: "soft next-more" }, `and ${counted(more, "picture")} more`) : null);
}

function item(one: Doubted, isWrong: boolean): HTMLElement {
  const words = isWrong ? `taken for ${one.answer}` : one.answer === one.class ? `only ${percent(one.probability)} sure` : `${one.answer}, ${percent(one.probability)}`;
  const open = () => openPicture(one.id, one.class, `Asked as if it had not been taught: ${isWrong ? words : `${one.answer}, ${percent(one.probability)}`}. One or two more pictures like it help.`);
  return h("li", {}, h("button", { type: "button", class: isWrong ? "mistaken" : "", click: open, "aria-label": `picture of ${one.class}, ${words}` }, thumbnail(one.id, 72), h("span", { class: "next-class" }, one.class), h("span", { class: "soft" }, words)));
}
