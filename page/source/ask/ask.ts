import { score } from "../check/check";
import { h } from "../shared/dom";
import { answerView } from "./answer";
import { easel } from "./easel";
import { history } from "./history";

const head = h("div", { class: "panel-head" }, h("h2", { id: "ask-title" }, "Ask"), easel.tabRow, score);
const body = h("div", { class: "ask-body" }, easel.element, answerView.element, answerView.actions);
const inner = h("div", { class: "ask-inner" }, head, body, history);

export const askPanel = h("section", { class: "ask panel", "aria-labelledby": "ask-title" }, inner);

// It stays in sight beside the cards; where it is taller than the screen, its lower end does.
new ResizeObserver(() => inner.style.setProperty("--height", `${inner.offsetHeight}px`)).observe(inner);
