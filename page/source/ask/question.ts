import { classes, movePicture, pictureCount, project } from "../server/project";
import { NoAnswer, predict, Refused } from "../server/request";
import { teachOne } from "../server/teach";
import type { Answer } from "../server/types";
import { tellCopies } from "../shared/copies";
import { Signal } from "../shared/signal";
import { sizeProblem, withoutName } from "../shared/words";

export interface Question {
  name: string;
  blob: Blob;
  /** A drawing that grows and the frames of a camera are one question that changes. */
  series: string;
  answer: Answer | null;
  error: string;
  /** Where it was put, or is being put. */
  taughtAs: string;
  id: string;
  /** Ends when it is where it was put last. */
  placing: Promise<unknown>;
}

export const question = new Signal<Question | null>(null);
/** All that was asked since the page was opened, oldest first. */
export const asked = new Signal<readonly Question[]>([]);

const MOST_KEPT = 2000;
const AGAIN_MS = 1000;
let running: Promise<void> | null = null;
let again = false;
let abort = new AbortController();

export function ask(name: string, blob: Blob, series: string): Promise<void> {
  const last = asked.value[asked.value.length - 1];
  const made: Question = { name, blob, series, answer: last?.series === series ? last.answer : null, error: "", taughtAs: "", id: "", placing: Promise.resolve() };
  asked.value = [...(last?.series === series ? asked.value.slice(0, -1) : asked.value.slice(-MOST_KEPT)), made];
  question.value = made;
  return askAgain();
}

/** Shows one that was asked before. */
export function show(shown: Question): void {
  question.value = shown;
  void askAgain();
}

export function forget(): void {
  abort.abort();
  question.value = null;
}

/** Answers what is shown once more: after every change of the project. The newest question wins; whoever waits, waits for its answer. */
export function askAgain(): Promise<void> {
  again = true;
  running ??= answerWhileAsked();
  return running;
}

async function answerWhileAsked(): Promise<void> {
  await Promise.resolve(); // `running` is set first
  while (again) {
    again = false;
    const current = question.value;
    if (current === null || pictureCount() === 0) continue;
    await answer(current);
  }
  running = null;
}

async function answer(current: Question): Promise<void> {
  abort = new AbortController();
  try {
    const problem = sizeProblem(current.blob);
    if (problem !== "") throw new Error(problem);
    current.answer = await predict(current.blob, current.name, abort.signal);
    current.error = "";
  } catch (error) {
    if (abort.signal.aborted) return;
    if (isPassing(error)) {
      setTimeout(() => void (question.value === current && askAgain()), AGAIN_MS);
      return;
    }
    current.answer = null;
    current.error = withoutName(current.name, error instanceof Error ? error.message : String(error));
  }
  if (question.value === current) question.value = current;
}

/** Nobody answers, or the network is loaded: it is asked again, and says nothing about the picture. */
function isPassing(error: unknown): boolean {
  return error instanceof NoAnswer || (error instanceof Refused && (error.status === 503 || error.status === 429));
}

/** Puts the picture that was asked into a class; one that is in a class already, or on its way into one, moves. */
export function teachQuestion(className: string): Promise<void> {
  const current = question.value;
  if (current === null || current.taughtAs === className) return Promise.resolve();
  const before = current.taughtAs;
  // Said at once, so that the next stroke begins the next drawing; taken back when it fails.
  showTaught(current, className);
  const placing = current.placing.then(() => place(current, className));
  current.placing = placing.catch(() => {
    if (current.taughtAs === className) showTaught(current, before);
  });
  return placing;
}

async function place(one: Question, className: string): Promise<void> {
  const isMoved = one.id !== "" && (await moved(one.id, className));
  if (!isMoved) one.id = await taught(one, className);
}

function showTaught(one: Question, className: string): void {
  one.taughtAs = className;
  if (question.value === one) question.value = one;
}

async function taught({ name, blob }: Question, className: string): Promise<string> {
  const { ids, known, notes } = await teachOne(className, { name, blob });
  tellCopies(known, notes);
  return ids[0] ?? "";
}

/** It may have been removed meanwhile. */
async function moved(id: string, className: string): Promise<boolean> {
  try {
    await movePicture(id, className);
    return true;
  } catch (error) {
    if (error instanceof Refused && error.status === 404) return false;
    throw error;
  }
}

/** Something was undone: where the picture is now, nobody here knows. */
export function forgetTaught(): void {
  if (question.value) showTaught(question.value, "");
}

let answeredRevision = -1;
project.changed((told) => {
  if (told === null || told.revision === answeredRevision) return;
  answeredRevision = told.revision;
  if (classes.value.length > 0) void askAgain();
  else if (question.value) question.value = { ...question.value, answer: null };
});
