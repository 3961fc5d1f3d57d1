import { button, fill, h, ICONS } from "./dom";

/** Messages that stay until they are read: what was refused and why. */
export const noticeArea = h("div", { class: "notices" });

export function notice(words: string, details: readonly string[] = [], isError = true): void {
  const close = button("Dismiss", ICONS.close, () => box.remove());
  const box = h("div", { class: isError ? "notice error" : "notice", role: isError ? "alert" : "status" }, h("div", { class: "words" }, h("strong", {}, words), listOf(details)), close);
  // Ten stills a second may all have the same to say.
  for (const other of Array.from(noticeArea.children)) if (other.textContent === box.textContent) other.remove();
  noticeArea.append(box);
}

const MOST_SHOWN = 8;

function listOf(details: readonly string[]): HTMLElement | null {
  if (details.length === 0) return null;
  const list = h("ul", {}, ...details.slice(0, MOST_SHOWN).map((words) => h("li", {}, words)));
  if (details.length > MOST_SHOWN) list.append(h("li", {}, `and ${details.length - MOST_SHOWN} more`));
  return list;
}

/** For what a person started: says what went wrong instead of throwing it into the console. */
export async function said<T>(what: string, doing: Promise<T>): Promise<T | undefined> {
  try {
    return await doing;
  } catch (error) {
    notice(`${what}: ${error instanceof Error ? error.message : String(error)}`);
    return undefined;
  }
}

/** A line with a bar while many pictures are sent. */
export function progressNotice(): { show(words: string, share: number): void; close(): void } {
  const bar = h("progress", { max: 1, value: 0, "aria-label": "progress" });
  const words = h("div", { class: "words" });
  const box = h("div", { class: "notice", role: "status" }, words, bar);
  return {
    show(text, share) {
      if (!box.isConnected) noticeArea.append(box);
      fill(words, text);
      bar.value = share;
    },
    close: () => box.remove(),
  };
}
