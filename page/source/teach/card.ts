import { easel } from "../ask/easel";
import { question } from "../ask/question";
import { chooseFiles } from "../files/choose";
import { teachFiles } from "../files/teach_files";
import { classes, project, removeClass, renameClass } from "../server/project";
import type { ClassCount } from "../server/types";
import { colourOf } from "../shared/colours";
import { button, fill, h, icon, ICONS } from "../shared/dom";
import { announce } from "../shared/live";
import { said } from "../shared/notices";
import { classNameIn, counted, nameProblem } from "../shared/words";
import { acceptDrops } from "./drag";
import { teachWhileHeld } from "./hold";
import { Thumbnails } from "./thumbnails";

/** A class: its name, its pictures, and where to put more. */
export class Card {
  readonly element = h("article", { class: "card" });
  private readonly dot = h("span", { class: "dot", "aria-hidden": "true" });
  private readonly key = h("kbd", { "aria-hidden": "true" });
  private readonly name = h("button", { type: "button", class: "name", click: () => this.rename() });
  private readonly count = h("span", { class: "count" });
  private readonly unit = h("span");
  private readonly thumbnails: Thumbnails;
  private readonly teach = h("button", { type: "button", class: "teach-this" }, icon(ICONS.plus), h("span"), this.key);
  private readonly add = h("button", { type: "button", class: "plain", click: () => void this.choose() }, "Add files");
  private readonly remove = button("Remove class", ICONS.remove, () => void this.removeAll());
  private readonly foot = h("div", { class: "card-foot" }, this.teach, this.add, this.remove);
  private className: string;
  private taught = "";

  constructor(counts: ClassCount) {
    this.className = counts.name;
    this.thumbnails = new Thumbnails(counts.name);
    this.element.append(h("header", {}, this.dot, h("h3", {}, this.name), h("p", { class: "tally" }, this.count, this.unit)), this.thumbnails.element, this.foot);
    acceptDrops(this.element, { className: () => this.className, files: ({ loose, folders }) => void teachFiles(new Map([[this.className, [...loose, ...[...folders.values()].flat()]]])) });
    teachWhileHeld(this.teach, () => this.className, () => void this.choose());
  }

  show({ name, pictures }: ClassCount, index: number): void {
    this.className = name;
    this.dot.style.background = colourOf(name);
    if (this.name.textContent !== name) this.name.textContent = name;
    this.name.title = "Rename";
    this.count.textContent = pictures.toLocaleString("en");
    this.unit.textContent = pictures === 1 ? " picture" : " pictures";
    this.key.textContent = index < 9 ? String(index + 1) : "";
    this.thumbnails.show(name, pictures);
    this.element.setAttribute("aria-label", `class ${name}, ${counted(pictures, "picture")}`);
    this.remove.setAttribute("aria-label", `Remove class ${name}`);
    this.add.setAttribute("aria-label", `Add files to ${name}`);
    const isReadOnly = project.value?.read_only ?? true;
    this.foot.hidden = isReadOnly;
    this.name.disabled = isReadOnly;
    this.showTeach();
  }

  showTeach(): void {
    const isCamera = easel.mode.value === "camera";
    const words = isCamera ? "Hold to teach" : question.value?.taughtAs === this.className ? "Taught" : "Teach this";
    const isNothing = question.value === null && !isCamera;
    const told = `${words} ${isNothing} ${this.className}`;
    if (told === this.taught) return;
    this.taught = told;
    const label = this.teach.querySelector("span");
    if (label) label.textContent = words;
    this.teach.disabled = isNothing || words === "Taught";
    this.teach.title = isNothing ? "First draw something, or choose a picture" : "";
    this.teach.setAttribute("aria-label", `${words}: ${this.className}`);
  }

  private async choose(): Promise<void> {
    const files = await chooseFiles({ several: true });
    if (files.length > 0) await teachFiles(new Map([[this.className, files.map((file) => ({ name: file.name, blob: file }))]]));
  }

  private async removeAll(): Promise<void> {
    const { className } = this;
    await said("Not removed", removeClass(className).then(() => announce(`Removed class ${className}. Control Z brings it back.`)));
  }

  private rename(): void {
    const old = this.className;
    const input = h("input", { type: "text", value: old, "aria-label": `New name of ${old}`, maxlength: 80, autocomplete: "off" });
    let isDone = false;
    const end = async (isKept: boolean) => {
      if (isDone) return;
      const to = classNameIn(input.value);
      const isChanged = isKept && to !== old;
      input.setCustomValidity(isChanged ? nameProblem(to) || (classes.value.some((one) => one.name === to) ? `There is a class ${to} already.` : "") : "");
      if (!input.reportValidity()) return;
      isDone = true;
      const heading = input.parentElement;
      if (heading) fill(heading, this.name);
      this.name.focus();
      if (isChanged && (await said("Not renamed", renameClass(old, to).then(() => true)))) focusName(to);
    };
    input.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Enter") void end(true);
      if (event.key === "Escape") void end(false);
    });
    input.addEventListener("input", () => input.setCustomValidity(""));
    input.addEventListener("blur", () => void end(nameProblem(input.value.trim()) === ""));
    this.name.replaceWith(input);
    input.select();
  }
}

/** A class of another name has another card. */
function focusName(className: string): void {
  for (const name of Array.from(document.querySelectorAll<HTMLElement>(".card .name"))) if (name.textContent === className) name.focus();
}
