import { question } from "../ask/question";
import { teachShown } from "../ask/teach_shown";
import { easel } from "../ask/easel";
import { chooseFiles } from "../files/choose";
import { fromChosenFolder } from "../files/dropped";
import type { Dropped } from "../files/dropped";
import { teachFiles } from "../files/teach_files";
import { addClass, classes, hasClass } from "../server/project";
import type { NamedPicture } from "../server/teach";
import { h, icon, ICONS } from "../shared/dom";
import { announce } from "../shared/live";
import { said } from "../shared/notices";
import { classNameIn, nameProblem } from "../shared/words";
import { acceptDrops } from "./drag";

/** A card for what is not there yet: a name, or folders, each of which becomes a class. */
export class NewClass {
  private readonly input = h("input", { type: "text", id: "new-class", placeholder: "Name", "aria-label": "Name of a new class", maxlength: 80, autocomplete: "off" });
  private readonly submit = h("button", { type: "submit" }, "Add");
  private readonly title = h("h3");
  private readonly words = h("p", { class: "soft" });
  private readonly form = h("form", { class: "inline", submit: (event: SubmitEvent) => this.typed(event) }, this.input, this.submit);
  private readonly folder = h("button", { type: "button", class: "plain", click: () => void this.chooseFolder() }, icon(ICONS.folder), "Choose a folder …");
  readonly element = h("article", { class: "card new", "aria-label": "New class", hidden: true }, this.title, this.form, this.words, this.folder);

  constructor() {
    acceptDrops(this.element, { className: () => null, files: (dropped) => void this.drop(dropped) });
    this.input.addEventListener("input", () => this.input.setCustomValidity(""));
    question.changed(() => this.show());
    easel.mode.follow(() => this.show());
  }

  /** Whoever sees no class has to be told what one is. */
  showEmpty(isEmpty: boolean): void {
    this.element.classList.toggle("first", isEmpty);
    this.title.textContent = isEmpty ? "Teach your first class" : "New class";
    this.words.textContent = isEmpty ? "Draw or choose a picture under Ask, then name it here. Or drop folders of pictures: each folder becomes a class." : "Or drop folders here: each becomes a class.";
  }

  focus(): void {
    this.input.scrollIntoView({ block: "nearest" });
    this.input.focus();
  }

  async drop({ loose, folders }: Dropped): Promise<void> {
    const groups = new Map<string, NamedPicture[]>(folders);
    if (loose.length > 0) groups.set(this.freeName(), loose);
    await teachFiles(groups);
  }

  private show(): void {
    this.submit.textContent = question.value !== null && question.value.taughtAs === "" ? "Teach this" : "Add";
  }

  private freeName(): string {
    const typed = classNameIn(this.input.value);
    if (nameProblem(typed) === "") return typed;
    for (let number = 1; ; ++number) if (!hasClass(`class ${number}`)) return `class ${number}`;
  }

  private typed(event: SubmitEvent): void {
    event.preventDefault();
    const name = classNameIn(this.input.value);
    this.input.setCustomValidity(nameProblem(name));
    if (this.form.reportValidity()) void this.make(name);
  }

  private async make(name: string): Promise<void> {
    await easel.settle();
    const isShown = question.value !== null && question.value.taughtAs === "";
    const made = await said(`${name} was not made`, isShown ? teachShown(name) : addClass(name).then(() => true));
    if (made === undefined) return;
    this.input.value = "";
    announce(`${name} is class ${classes.value.findIndex((one) => one.name === name) + 1}.`);
  }

  private async chooseFolder(): Promise<void> {
    const files = await chooseFiles({ folder: true, several: true });
    if (files.length > 0) await this.drop(fromChosenFolder(files));
  }
}
