import { project } from "../server/project";
import { planeMap, Refused, NoAnswer, thumbnailAddress } from "../server/request";
import type { Check, PlaneMap } from "../server/types";
import { colourIndex, colourOf, computedColour } from "../shared/colours";
import { fill, h } from "../shared/dom";
import { inkOf } from "../shared/ink";
import { announce } from "../shared/live";
import { openPicture } from "../shared/picture_dialog";
import { paintCells } from "./cells";

type MapPoint = PlaneMap["points"][number];

const MOST_THUMBNAILS = 300;
const NEAR_PX = 24;
const DARK = matchMedia("(prefers-color-scheme: dark)");
const WIDE = matchMedia("(min-width: 640px)");

/** All pictures in the plane, with the cells of the classes behind them. */
export class PictureMap {
  private readonly canvas = h("canvas", { class: "map", tabindex: 0, role: "img", "aria-label": "Map of all pictures" });
  private readonly tip = h("p", { class: "map-tip", hidden: true });
  private readonly legend = h("ul", { class: "legend" });
  private readonly frame = h("div", { class: "map-frame" }, this.canvas, this.tip);
  readonly element = h("div", { class: "map-box" }, this.frame, this.legend);
  private map: PlaneMap | null = null;
  private isTurned = false;
  private revision = -1;
  private chosen: MapPoint | null = null;
  private mistaken = new Set<string>();
  private readonly thumbnails = new Map<string, HTMLImageElement>();
  private cells: HTMLCanvasElement | null = null;
  private abort = new AbortController();

  constructor() {
    this.canvas.addEventListener("pointermove", (event) => this.choose(this.pointNear(event)));
    this.canvas.addEventListener("pointerleave", () => this.choose(null));
    this.canvas.addEventListener("click", (event) => this.open(this.pointNear(event)));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    WIDE.addEventListener("change", () => this.turn());
    DARK.addEventListener("change", () => {
      this.cells = null;
      this.draw();
    });
  }

  show(checked: Check): void {
    this.mistaken = new Set(checked.wrong.map((one) => one.id));
    const revision = project.value?.revision ?? 0;
    if (revision !== this.revision) void this.fetchMap(revision);
    else this.draw();
  }

  private async fetchMap(revision: number): Promise<void> {
    this.abort.abort();
    this.abort = new AbortController();
    const { signal } = this.abort;
    if (this.map === null) fill(this.legend, h("li", { class: "soft" }, "Making the map …"));
    try {
      const map = await planeMap(signal);
      this.map = map;
      this.revision = revision;
      this.chosen = null;
      this.turn();
      this.canvas.setAttribute("aria-label", `Map of ${map.points.length} pictures and the cells of ${map.cells.classes.length} classes. Arrow keys go from picture to picture, Enter opens one.`);
      this.showLegend();
    } catch (error) {
      if (!signal.aborted && !(error instanceof NoAnswer || error instanceof Refused)) throw error;
    }
  }

  /** What is up in the plane means nothing: the map lies or stands as the screen does. */
  private turn(): void {
    if (this.map === null) return;
    const shape = this.map.cells.width / this.map.cells.height;
    this.isTurned = WIDE.matches !== shape >= 1;
    this.map.points.sort((a, b) => (this.isTurned ? b.y - a.y : a.x - b.x));
    this.frame.style.setProperty("--shape", String(this.isTurned ? 1 / shape : shape));
    this.cells = null;
    this.draw();
  }

  private showLegend(): void {
    fill(this.legend, ...(this.map?.cells.classes ?? []).map((name) => {
      const dot = h("span", { class: "dot" });
      dot.style.background = colourOf(name);
      return h("li", {}, dot, name);
    }), this.mistaken.size > 0 ? h("li", { class: "soft" }, h("span", { class: "ring" }), "answered wrongly") : null);
  }

  private place(point: { x: number; y: number }): [number, number] {
    const [x0, y0, x1, y1] = this.map?.bounds ?? [0, 0, 1, 1];
    const { clientWidth, clientHeight } = this.canvas;
    const [right, down] = [(point.x - x0) / (x1 - x0), (y1 - point.y) / (y1 - y0)];
    return this.isTurned ? [down * clientWidth, right * clientHeight] : [right * clientWidth, down * clientHeight];
  }

  private draw(): void {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const context = this.canvas.getContext("2d");
    if (this.map === null || width === 0 || context === null) return;
    this.canvas.width = width * devicePixelRatio;
    this.canvas.height = height * devicePixelRatio;
    context.scale(devicePixelRatio, devicePixelRatio);
    const [across, down] = this.isTurned ? [this.canvas.height, this.canvas.width] : [this.canvas.width, this.canvas.height];
    if (this.cells?.width !== across) this.cells = paintCells(this.map.cells, across, down);
    context.save();
    if (this.isTurned) context.transform(0, 1, 1, 0, 0, 0);
    context.drawImage(this.cells, 0, 0, across / devicePixelRatio, down / devicePixelRatio);
    context.restore();
    const size = this.map.points.length > 120 || width < 400 ? 22 : 32;
    for (const point of this.map.points) this.drawPoint(context, point, size);
    if (this.chosen) this.drawPoint(context, this.chosen, size * 2);
  }

  private drawPoint(context: CanvasRenderingContext2D, point: MapPoint, size: number): void {
    const [x, y] = this.place(point);
    const image = this.thumbnailOf(point.id);
    context.lineWidth = this.mistaken.has(point.id) ? 3 : 1.5;
    context.strokeStyle = computedColour(this.mistaken.has(point.id) ? "--ink" : `--c${colourIndex(point.class)}`);
    context.beginPath();
    if (image) {
      context.drawImage(image, x - size / 2, y - size / 2, size, size);
      context.rect(x - size / 2, y - size / 2, size, size);
    } else {
      context.arc(x, y, 4, 0, 2 * Math.PI);
      context.fillStyle = context.strokeStyle;
      context.fill();
    }
    context.stroke();
  }

  /** Loaded ones; the first hundreds are loaded, the others stay dots. */
  private thumbnailOf(id: string): CanvasImageSource | null {
    const known = this.thumbnails.get(id);
    if (known && !(known.complete && known.naturalWidth > 0)) return null;
    if (known) return DARK.matches ? known : inkOf(known);
    if (this.thumbnails.size >= MOST_THUMBNAILS || project.value?.has_pictures === false) return null;
    const image = new Image();
    image.addEventListener("load", () => requestAnimationFrame(() => this.draw()), { once: true });
    image.src = thumbnailAddress(id);
    this.thumbnails.set(id, image);
    return null;
  }

  private pointNear(event: MouseEvent): MapPoint | null {
    const box = this.canvas.getBoundingClientRect();
    let nearest: MapPoint | null = null;
    let best = NEAR_PX;
    for (const point of this.map?.points ?? []) {
      const [x, y] = this.place(point);
      const distance = Math.hypot(x - (event.clientX - box.left), y - (event.clientY - box.top));
      if (distance < best) [nearest, best] = [point, distance];
    }
    return nearest;
  }

  private choose(point: MapPoint | null): void {
    if (point === this.chosen) return;
    this.chosen = point;
    this.tip.hidden = point === null;
    if (point) {
      const [x, y] = this.place(point);
      this.tip.textContent = `${point.class}${this.mistaken.has(point.id) ? ", answered wrongly" : ""}`;
      this.tip.style.left = `${Math.min(x, this.canvas.clientWidth - 120)}px`;
      this.tip.style.top = `${y + 36}px`;
    }
    this.draw();
  }

  private key(event: KeyboardEvent): void {
    const points = this.map?.points ?? [];
    const at = this.chosen ? points.indexOf(this.chosen) : -1;
    if (event.key === "Enter") this.open(this.chosen);
    else if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
      const next = points[Math.max(0, Math.min(points.length - 1, at + (event.key === "ArrowRight" ? 1 : -1)))] ?? null;
      this.choose(next);
      if (next) announce(next.class);
    } else return;
    event.preventDefault();
  }

  private open(point: MapPoint | null): void {
    if (point) openPicture(point.id, point.class);
  }
}
