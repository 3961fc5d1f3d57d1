import { classes, pictureCount, project } from "../server/project";
import type { Answer } from "../server/types";
import { colourOf } from "../shared/colours";
import { fill, h, keepChildren } from "../shared/dom";
import { announce } from "../shared/live";
import { percent } from "../shared/words";
import { network } from "./network";
import { question } from "./question";
import type { Question } from "./question";
import { whyPanel } from "./why";
import { Wrong } from "./wrong";

const MOST_BARS = 5;
const ANNOUNCE_AFTER_MS = 700;

/** The answer is the largest word on the page, and not knowing is an answer like any other. */
class AnswerView {
  private readonly word = h("p", { class: "word" });
  private readonly under = h("p", { class: "under" });
  private readonly bars = h("ul", { class: "bars", "aria-label": "Probabilities" });
  private readonly why = h("details", { class: "why" }, h("summary", {}, "Why?"));
  private readonly whyBody = h("div");
  private readonly wrong = new Wrong();
  readonly element = h("div", { class: "answer" }, this.word, this.under, this.bars);
  readonly actions = h("div", { class: "answer-actions" }, this.why, this.wrong.element);

  constructor() {
    this.why.append(this.whyBody);
    this.why.addEventListener("toggle", () => this.show());
    question.changed(() => this.show());
    project.follow(() => this.show());
    network.changed(() => this.show());
  }

  openWrong(): void {
    this.wrong.open();
  }

  private show(): void {
    const current = question.value;
    const answer = current?.answer ?? null;
    this.element.classList.toggle("unknown", answer?.unknown ?? false);
    this.actions.classList.toggle("off", answer === null);
    if (current === null || answer === null) this.showNothing(current);
    else this.showAnswer(current, answer);
  }

  private showNothing(current: Question | null): void {
    fill(this.bars);
    this.wrong.close();
    this.word.className = "word quiet";
    this.word.textContent = project.value === null && network.value === "" ? "" : quietWord(current);
    this.under.textContent = quietLine(current);
  }

  private showAnswer(current: Question, answer: Answer): void {
    const isUnknown = answer.unknown;
    this.word.className = isUnknown ? "word" : answer.class.length > 14 ? "word long" : "word";
    this.word.textContent = isUnknown ? "I don’t know this" : answer.class;
    this.showUnder(current, answer, isUnknown);
    this.showBars(answer);
    this.wrong.show(current, answer);
    if (this.why.open) fill(this.whyBody, answer.why ? whyPanel(answer.why) : null);
    const certainty = percent(answer.probabilities[answer.nearest] ?? 0);
    announce(isUnknown ? `I don't know this. Nearest is ${answer.nearest}.` : `${answer.class}, ${certainty.replace("%", "percent")}`, ANNOUNCE_AFTER_MS);
  }

  private showUnder(current: Question, answer: Answer, isUnknown: boolean): void {
    if (current.taughtAs !== "") this.under.textContent = `Taught as ${current.taughtAs}`;
    else if (isUnknown) {
      const teach = h("button", { type: "button", class: "main", click: () => this.openWrong() }, "Teach it");
      fill(this.under, `Nearest: ${answer.nearest} `, project.value?.read_only ? null : teach);
    } else if (this.under.textContent !== "" || this.under.childElementCount > 0) fill(this.under, "\u00a0");
  }

  private showBars(answer: Answer): void {
    const rows = Object.entries(answer.probabilities).sort((a, b) => b[1] - a[1]).slice(0, MOST_BARS);
    keepChildren(this.bars, rows, (row) => row[0], makeBar, (node, [name, probability]) => {
      const fillOf = node.querySelector<HTMLElement>(".fill");
      const amount = node.querySelector<HTMLElement>(".amount");
      if (!fillOf || !amount) return;
      fillOf.style.width = `${Math.min(probability, 0.995) * 100}%`;
      fillOf.style.background = colourOf(name);
      amount.textContent = percent(probability);
    });
  }
}

function makeBar([name]: [string, number]): HTMLElement {
  return h("li", {}, h("span", { class: "name", title: name }, name), h("span", { class: "track" }, h("span", { class: "fill" })), h("span", { class: "amount" }));
}

function quietWord(current: Question | null): string {
  if (network.value !== "") return "One moment";
  if (pictureCount() === 0) return "Teach me something";
  if (current?.error) return "I cannot read this";
  return current ? "…" : "What is it?";
}

function quietLine(current: Question | null): string {
  if (project.value === null && network.value === "") return "";
  if (network.value !== "") return network.value;
  if (current?.error) return `${current.name}: ${current.error}`;
  if (pictureCount() === 0) return classes.value.length === 0 ? "Draw, drop or choose a picture, then give it a name. One picture is enough to begin." : "Give one of the classes its first picture.";
  return "Draw, drop or paste a picture, or use the camera.";
}

export const answerView = new AnswerView();
