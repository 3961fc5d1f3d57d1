import { project, removePicture } from "../server/project";
import type { Picture } from "../server/types";
import { h, keepChildren } from "../shared/dom";
import { said } from "../shared/notices";
import { openPicture } from "../shared/picture_dialog";
import { thumbnail } from "../shared/thumbnail";
import { PictureList } from "./pictures";
import { takePicture } from "./drag";

const LARGEST_STEP = 60;
const GAP = 4;
const ROWS_BEYOND = 3;

interface Shown {
  index: number;
  picture: Picture | undefined;
}

/** Cards are equally wide. Each could ask for its width, but then the page would be laid out anew for every card. */
let usualWidth = 0;

/** Thousands of thumbnails, of which only those in sight exist. */
export class Thumbnails {
  readonly element = h("div", { class: "thumbs", role: "listbox", "aria-orientation": "horizontal", tabindex: -1 });
  private readonly space = h("div", { class: "thumbs-space", role: "presentation" });
  private readonly list: PictureList;
  private count = 0;
  private focused = 0;
  private columns = 1;
  /** From one thumbnail to the next: as many as are needed to fill a row. */
  private step = LARGEST_STEP;
  private isSeen = false;
  private width = 0;

  constructor(className: string) {
    this.list = new PictureList(className, () => this.draw());
    this.element.append(this.space);
    this.element.addEventListener("scroll", () => this.draw(), { passive: true });
    this.element.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver((entries) => {
      this.width = entries[entries.length - 1]?.contentRect.width ?? 0;
      usualWidth = this.width || usualWidth;
      this.draw();
    }).observe(this.element);
    new IntersectionObserver((entries) => {
      this.isSeen = entries.some((entry) => entry.isIntersecting);
      this.draw();
    }, { rootMargin: "200px" }).observe(this.element);
  }

  show(className: string, count: number): void {
    this.list.className = className;
    this.count = count;
    this.focused = Math.min(this.focused, Math.max(0, count - 1));
    this.element.setAttribute("aria-label", `Pictures of ${className}`);
    this.element.hidden = count === 0 || project.value?.has_pictures === false;
    this.draw();
  }

  private draw(): void {
    if (this.element.hidden || !this.element.isConnected) return;
    usualWidth ||= this.element.clientWidth;
    const width = this.width || usualWidth;
    if (width === 0) return;
    this.columns = Math.max(1, Math.ceil((width + GAP) / LARGEST_STEP));
    this.step = (width + GAP) / this.columns;
    this.element.style.setProperty("--side", `${this.step - GAP}px`);
    const rows = Math.ceil(this.count / this.columns);
    this.space.style.height = `${rows * this.step - GAP}px`;
    if (!this.isSeen) return;
    const firstRow = Math.max(0, Math.floor(this.element.scrollTop / this.step) - ROWS_BEYOND);
    const lastRow = Math.ceil((this.element.scrollTop + this.element.clientHeight) / this.step) + ROWS_BEYOND;
    const first = firstRow * this.columns;
    const last = Math.min(this.count, lastRow * this.columns);
    this.list.want(first, last, project.value?.revision ?? 0);
    const shown: Shown[] = [];
    for (let index = first; index < last; ++index) shown.push({ index, picture: this.list.at(index) });
    keepChildren(this.space, shown, ({ index, picture }) => picture?.id ?? `empty ${index}`, ({ picture }) => this.make(picture), (node, { index, picture }) => this.place(node, index, picture));
  }

  private make(picture: Picture | undefined): HTMLElement {
    const tile = h("div", { class: "tile", role: "option", "aria-selected": "false" });
    if (picture === undefined) return tile;
    const { id } = picture;
    tile.append(thumbnail(id, 56) ?? "");
    tile.draggable = !project.value?.read_only;
    tile.addEventListener("dragstart", (event) => takePicture(event, id, this.list.className));
    tile.addEventListener("click", () => {
      this.focus(this.indexOf(tile));
      openPicture(id, this.list.className);
    });
    return tile;
  }

  private indexOf(tile: HTMLElement): number {
    return Number(tile.dataset["index"]);
  }

  private place(tile: HTMLElement, index: number, picture: Picture | undefined): void {
    const x = (index % this.columns) * this.step;
    const y = Math.floor(index / this.columns) * this.step;
    tile.style.transform = `translate(${x}px, ${y}px)`;
    tile.dataset["index"] = String(index);
    tile.tabIndex = index === this.focused ? 0 : -1;
    const isWrong = picture?.wrong ?? false;
    tile.classList.toggle("mistaken", isWrong);
    tile.setAttribute("aria-posinset", String(index + 1));
    tile.setAttribute("aria-setsize", String(this.count));
    tile.setAttribute("aria-label", `picture ${index + 1} of ${this.list.className}${isWrong ? ", answered wrongly when it is asked" : ""}`);
    tile.title = isWrong ? "Answered wrongly when it is asked as if it had not been taught" : "";
  }

  private focus(index: number): void {
    this.focused = Math.max(0, Math.min(this.count - 1, index));
    const y = Math.floor(this.focused / this.columns) * this.step;
    if (y < this.element.scrollTop) this.element.scrollTop = y;
    if (y + this.step > this.element.scrollTop + this.element.clientHeight) this.element.scrollTop = y + this.step - this.element.clientHeight;
    this.draw();
    this.space.querySelector<HTMLElement>(`[data-index="${this.focused}"]`)?.focus({ preventScroll: true });
  }

  private key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const steps: Record<string, number> = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: this.columns, ArrowUp: -this.columns, Home: -this.count, End: this.count, PageDown: 3 * this.columns, PageUp: -3 * this.columns };
    const step = steps[event.key];
    const picture = this.list.at(this.focused);
    if (step !== undefined) this.focus(this.focused + step);
    else if (event.key === "Enter" || event.key.toLowerCase() === "m") {
      if (picture) openPicture(picture.id, this.list.className);
    } else if (event.key === "Delete" || event.key === "Backspace") {
      if (picture && !project.value?.read_only) void said("Not removed", removePicture(picture.id).then(() => this.focus(this.focused)));
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
