import { pictures } from "../server/request";
import type { Picture } from "../server/types";

const WINDOW = 200;

/** The pictures of one class, newest first, fetched a window at a time as they come into sight. */
export class PictureList {
  private held: (Picture | undefined)[] = [];
  private fetched = new Map<number, number>();

  constructor(public className: string, private readonly changed: () => void) {}

  at(index: number): Picture | undefined {
    return this.held[index];
  }

  /** Fetches what is between two places unless this revision of it is there. */
  want(first: number, last: number, revision: number): void {
    for (let start = first - (first % WINDOW); start < last; start += WINDOW) {
      if (this.fetched.get(start) === revision) continue;
      this.fetched.set(start, revision);
      void this.fetchWindow(start, revision);
    }
  }

  private async fetchWindow(start: number, revision: number): Promise<void> {
    try {
      const found = await pictures(this.className, start, WINDOW);
      if (this.fetched.get(start) !== revision) return;
      for (let i = 0; i < WINDOW; ++i) this.held[start + i] = found[i];
      this.changed();
    } catch {
      this.fetched.delete(start); // the class is gone, or nobody answers: the next revision fetches it
    }
  }
}
