import { answerView } from "./ask/answer";
import { easel } from "./ask/easel";
import { askAgain, question } from "./ask/question";
import { teachShown } from "./ask/teach_shown";
import { openKeep } from "./keep/keep";
import { classes, lastChangeTime, project } from "./server/project";
import { openHelp } from "./shared/help";
import { announce } from "./shared/live";
import { said } from "./shared/notices";
import { newClass, redoLast, undoLast } from "./teach/teach";

/** One key each for what is done often. Fields and dialogs keep theirs. */
export function watchKeys(): void {
  document.addEventListener("keydown", (event) => {
    if (document.querySelector("dialog[open]") !== null || isTyping(event.target)) return;
    const isHandled = event.ctrlKey || event.metaKey ? withControl(event) : !event.altKey && alone(event);
    if (isHandled) event.preventDefault();
  });
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement;
}

function withControl(event: KeyboardEvent): boolean {
  const key = event.key.toLowerCase();
  if (key === "y" || (key === "z" && event.shiftKey)) void redoLast();
  else if (key === "z") undoWhatCameLast();
  else return false;
  return true;
}

function undoWhatCameLast(): void {
  const isStroke = easel.mode.value === "draw" && !easel.pad.isEmpty && easel.pad.lastStrokeTime > lastChangeTime;
  if (isStroke) easel.pad.undoStroke();
  else void undoLast();
}

function alone(event: KeyboardEvent): boolean {
  if (/^[1-9]$/.test(event.key)) return teachInto(Number(event.key) - 1);
  const isOnControl = event.target instanceof Element && event.target.closest("button, a, summary") !== null;
  if (event.key === " " && isOnControl) return false;
  const action = actions[event.key.toLowerCase()];
  action?.();
  return action !== undefined;
}

const actions: Record<string, (() => void) | undefined> = {
  " ": () => (easel.mode.value === "camera" ? easel.camera.toggleHeld() : void askAgain()),
  "/": () => newClass.focus(),
  "?": openHelp,
  d: () => easel.use("draw"),
  p: () => easel.use("picture"),
  c: () => easel.use("camera"),
  x: () => easel.pad.clear(),
  e: openKeep,
  w: () => {
    if (question.value?.answer && !project.value?.read_only) answerView.openWrong();
  },
};

function teachInto(index: number): boolean {
  const card = classes.value[index];
  if (card === undefined || project.value?.read_only) return false;
  void said(`Not taught as ${card.name}`, teachShown(card.name)).then((isTaught) => {
    if (isTaught) announce(`Taught as ${card.name}.`);
  });
  return true;
}
