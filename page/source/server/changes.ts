import { Signal } from "../shared/signal";
import { change, NoAnswer, Refused } from "./request";

interface Change {
  method: "POST" | "DELETE";
  path: string;
  body: BodyInit | null;
  headers: Record<string, string>;
  done(answer: unknown): void;
  failed(error: Error): void;
}

export interface Line {
  waiting: number;
  /** Why the first one has not been made yet. */
  trouble: "" | "offline" | "busy" | "full";
  message: string;
}

/** Changes are made one after the other, in order; one that nobody answered stays first in line until somebody does. */
export const line = new Signal<Line>({ waiting: 0, trouble: "", message: "" });

const queue: Change[] = [];
const PAUSES_MS = [500, 1000, 2000, 4000, 8000];
let running = false;
let attempts = 0;
let timer = 0;

/** crypto.randomUUID is not there for a page that came from another machine without TLS. */
export function newNumber(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The number of a change makes a repeated one recognisable, when the first answer was lost; changes of a group are undone together. */
export function submit<T>(method: "POST" | "DELETE", path: string, body: BodyInit | null = null, group = ""): Promise<T> {
  return new Promise<T>((done, failed) => {
    queue.push({ method, path, body, headers: { "X-Deepvoro-Request": newNumber(), ...(group ? { "X-Deepvoro-Group": group } : {}) }, done: done as (answer: unknown) => void, failed });
    report(line.value.trouble, line.value.message);
    void work();
  });
}

export function tryAgain(): void {
  clearTimeout(timer);
  attempts = 0;
  void work();
}

function report(trouble: Line["trouble"], message: string): void {
  line.value = { waiting: queue.length, trouble, message };
}

function troubleOf(error: unknown): Line["trouble"] {
  if (error instanceof NoAnswer) return "offline";
  if (!(error instanceof Refused)) return "";
  if (error.status === 507) return "full";
  return error.status === 503 || error.status === 429 ? "busy" : "";
}

async function work(): Promise<void> {
  if (running) return;
  running = true;
  for (let first = queue[0]; first !== undefined; first = queue[0]) {
    try {
      const answer = await change(first.method, first.path, first.body, first.headers);
      queue.shift();
      attempts = 0;
      report("", "");
      first.done(answer);
    } catch (error) {
      const trouble = troubleOf(error);
      const problem = error instanceof Error ? error : new Error(String(error));
      if (trouble !== "") {
        report(trouble, problem.message);
        // A full disk does not become empty by itself.
        if (trouble !== "full") timer = window.setTimeout(() => void work(), PAUSES_MS[Math.min(attempts++, PAUSES_MS.length - 1)]);
        break;
      }
      queue.shift();
      report("", "");
      first.failed(problem);
    }
  }
  running = false;
}

window.addEventListener("online", tryAgain);
window.addEventListener("beforeunload", (event) => {
  if (queue.length > 0) event.preventDefault();
});
