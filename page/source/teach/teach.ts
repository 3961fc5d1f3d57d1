import { easel } from "../ask/easel";
import { forgetTaught, question } from "../ask/question";
import { classes, pictureCount, project, redo, undo } from "../server/project";
import type { ClassCount } from "../server/types";
import { button, h, icon, ICONS, keepChildren } from "../shared/dom";
import { announce } from "../shared/live";
import { said } from "../shared/notices";
import { counted } from "../shared/words";
import { Card } from "./card";
import { NewClass } from "./new_class";

export const newClass = new NewClass();
const cards = new WeakMap<HTMLElement, Card>();
const grid = h("div", { class: "cards" });
const summary = h("p", { class: "soft summary" });
const undoButton = button("Undo", ICONS.undo, () => void undoLast());
const redoButton = button("Redo", ICONS.redo, () => void redoLast());
const newButton = h("button", { type: "button", class: "plain", click: () => newClass.focus() }, icon(ICONS.plus), "New class");
const tools = h("div", { class: "tools", hidden: true }, newButton, undoButton, redoButton);
const noPictures = h("p", { class: "soft no-pictures", hidden: true }, "This file keeps what was learnt from pictures, not the pictures themselves. It answers just the same.");

export const teachPanel = h("section", { class: "teach panel", "aria-labelledby": "teach-title" }, h("div", { class: "panel-head" }, h("h2", { id: "teach-title" }, "Teach"), summary, tools), noPictures, h("div", { class: "cards-scroll" }, grid, newClass.element));

export async function undoLast(): Promise<void> {
  if (project.value?.undo == null) return;
  const answer = await said("Not undone", undo());
  forgetTaught();
  if (answer) announce(`Undone: ${answer.did}`);
}

export async function redoLast(): Promise<void> {
  if (project.value?.redo == null) return;
  const answer = await said("Not done again", redo());
  forgetTaught();
  if (answer) announce(`Done again: ${answer.did}`);
}

function makeCard(counts: ClassCount): HTMLElement {
  const card = new Card(counts);
  cards.set(card.element, card);
  return card.element;
}

function nameTool(tool: HTMLButtonElement, verb: string, what: string | null): void {
  const words = what === null ? verb : `${verb}: ${what}`;
  tool.disabled = what === null;
  tool.title = words;
  tool.setAttribute("aria-label", words);
}

function show(): void {
  const told = project.value;
  if (told === null) return;
  keepChildren(grid, classes.value, (one) => one.name, makeCard, (node, counts, index) => cards.get(node)?.show(counts, index));
  summary.textContent = classes.value.length === 0 ? "nothing taught yet" : `${counted(classes.value.length, "class", "classes")}, ${counted(pictureCount(), "picture")}`;
  nameTool(undoButton, "Undo", told.undo);
  nameTool(redoButton, "Redo", told.redo);
  newClass.element.hidden = tools.hidden = told.read_only;
  newButton.hidden = classes.value.length === 0;
  newClass.showEmpty(classes.value.length === 0);
  noPictures.hidden = told.has_pictures;
}

function showTeach(): void {
  for (const node of Array.from(grid.children) as HTMLElement[]) cards.get(node)?.showTeach();
}

project.follow(show);
question.changed(showTeach);
easel.mode.changed(showTeach);
