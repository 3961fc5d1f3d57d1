import { classes, project } from "../server/project";
import type { Answer } from "../server/types";
import { colourOf } from "../shared/colours";
import { fill, h } from "../shared/dom";
import { said } from "../shared/notices";
import { classNameIn, nameProblem } from "../shared/words";
import { easel } from "./easel";
import { teachQuestion } from "./question";
import type { Question } from "./question";

const MOST_CHOICES = 200;

/** One click puts the picture into its right class, and the answer changes before the eyes. */
export class Wrong {
  private readonly choices = h("div", { class: "choices" });
  private readonly input = h("input", { type: "text", placeholder: "Or a new class", "aria-label": "Name of a new class for this picture", maxlength: 80, autocomplete: "off" });
  private readonly form = h("form", { class: "inline", submit: (event: SubmitEvent) => this.typed(event) }, this.input, h("button", { type: "submit" }, "Teach"));
  private readonly title = h("summary", {}, "Wrong?");
  readonly element = h("details", { class: "wrong" }, this.title, h("p", { class: "soft" }, "What is it? The picture is taught as what you choose:"), this.choices, this.form);
  private names = "";

  constructor() {
    this.element.addEventListener("toggle", () => easel.camera.hold(this.element.open));
  }

  open(): void {
    this.element.open = true;
    (this.choices.querySelector("button") ?? this.input).focus();
  }

  close(): void {
    this.element.open = false;
  }

  show(question: Question, answer: Answer): void {
    this.element.hidden = project.value?.read_only ?? true;
    this.title.textContent = answer.unknown ? "Say what it is" : "Wrong?";
    const taken = question.taughtAs || (answer.unknown ? "" : answer.class);
    const names = classes.value.map((one) => one.name).filter((name) => name !== taken);
    if (names.join("/") === this.names) return;
    this.names = names.join("/");
    fill(this.choices, ...names.slice(0, MOST_CHOICES).map((name) => this.choice(name)));
    this.input.placeholder = names.length > MOST_CHOICES ? "Another class, or a new one" : "Or a new class";
  }

  private choice(name: string): HTMLElement {
    const dot = h("span", { class: "dot" });
    dot.style.background = colourOf(name);
    return h("button", { type: "button", class: "chip", click: () => void this.teach(name) }, dot, name);
  }

  private typed(event: SubmitEvent): void {
    event.preventDefault();
    const name = classNameIn(this.input.value);
    this.input.setCustomValidity(nameProblem(name));
    if (this.form.reportValidity()) void this.teach(name);
  }

  private async teach(name: string): Promise<void> {
    await easel.settle();
    await said(`Not taught as ${name}`, teachQuestion(name));
    this.input.value = "";
    this.close();
    this.title.focus();
  }
}
