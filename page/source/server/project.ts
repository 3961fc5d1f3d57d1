import { chooseColours } from "../shared/colours";
import { Signal } from "../shared/signal";
import { submit } from "./changes";
import * as request from "./request";
import type { ClassCount, Project, Taught } from "./types";

/** The project as the server last told it. */
export const project = new Signal<Project | null>(null);
export const classes = new Signal<readonly ClassCount[]>([]);
/** Nobody answers at the moment. */
export const offline = new Signal(false);
/** The server wants a token that this page does not have; another one comes with another address. */
export const isLocked = new Signal(false);

let refreshing: Promise<void> | null = null;
let isStale = false;

/** Fetches what is shown; calls that come meanwhile share one more fetch. */
export function refresh(): Promise<void> {
  if (isLocked.value) return Promise.resolve();
  isStale = true;
  refreshing ??= fetchAll().finally(() => {
    refreshing = null;
  });
  return refreshing;
}

async function fetchAll(): Promise<void> {
  while (isStale) {
    isStale = false;
    try {
      const [told, counted] = await Promise.all([request.project(), request.classes()]);
      if (told.revision !== counted.revision) {
        // Something was changed between the two answers.
        isStale = true;
        continue;
      }
      const counts = counted.classes;
      chooseColours(counts);
      const isNew = told.revision !== project.value?.revision || told.folder !== project.value.folder;
      if (offline.value) offline.value = false;
      if (!isNew) continue;
      classes.value = counts;
      project.value = told;
    } catch (error) {
      if (error instanceof request.Refused) {
        // While the network is loaded there is nothing to tell; whoever waits for it asks again.
        if (error.status === 403) isLocked.value = true;
        return;
      }
      if (!(error instanceof request.NoAnswer)) throw error;
      offline.value = true;
    }
  }
}

/** Another window, a program or a restart may have changed the project. */
export function watch(everyMs: number): void {
  setInterval(() => {
    if (document.visibilityState === "visible" || offline.value) void refresh();
  }, everyMs);
  document.addEventListener("visibilitychange", () => void refresh());
}

export function pictureCount(): number {
  return classes.value.reduce((sum, one) => sum + one.pictures, 0);
}

export function hasClass(name: string): boolean {
  return classes.value.some((one) => one.name === name);
}

/** When something was last changed from here, for Ctrl-Z to know what came last. */
export let lastChangeTime = 0;

export function noteChange(): void {
  lastChangeTime = Date.now();
}

async function changed<T>(making: Promise<T>): Promise<T> {
  noteChange();
  const answer = await making;
  await refresh();
  return answer;
}

const json = (value: unknown) => JSON.stringify(value);

export const addClass = (name: string) => changed(submit("POST", "/api/classes", json({ name })));
export const renameClass = (name: string, to: string) => changed(submit("POST", `${request.classAddress(name)}/rename`, json({ to })));
export const removeClass = (name: string) => changed(submit("DELETE", request.classAddress(name)));
export const movePicture = (id: string, to: string) => changed(submit("POST", `${request.pictureAddress(id)}/move`, json({ to })));
export const removePicture = (id: string) => changed(submit("DELETE", request.pictureAddress(id)));
export const undo = () => changed(submit<{ did: string }>("POST", "/api/undo"));
export const redo = () => changed(submit<{ did: string }>("POST", "/api/redo"));
export const importProject = (file: Blob) => changed(submit<Taught>("POST", "/api/project.zip", file));
