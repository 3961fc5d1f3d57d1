import { h } from "../shared/dom";
import { answerView } from "./answer";
import { easel } from "./easel";
import { history } from "./history";

export const askPanel = h("section", { class: "ask panel", "aria-labelledby": "ask-title" }, h("h2", { id: "ask-title" }, "Ask"), h("div", { class: "ask-body" }, easel.element, answerView.element), history);
