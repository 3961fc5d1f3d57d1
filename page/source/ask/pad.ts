import { classes, project } from "../server/project";
import { drawingBlob, drawStrokes } from "../files/drawing";
import type { Point } from "../files/drawing";
import { computedColour } from "../shared/colours";
import { button, h, ICONS } from "../shared/dom";
import { ask, forget, question } from "./question";

/** Strokes are kept in units of this square, whatever size the pad has. */
const UNITS = 320;
const ASK_EVERY_MS = 120;

/** A sheet to draw on with mouse, finger or pen. It is asked while it is drawn. */
export class Pad {
  readonly element: HTMLElement;
  lastStrokeTime = 0;
  private readonly canvas = h("canvas", { class: "pad", tabindex: 0, role: "img", "aria-label": "Drawing pad" });
  private readonly hint = h("p", { class: "pad-hint" });
  private readonly tools: HTMLButtonElement[];
  private strokes: Point[][] = [];
  private drawing: number | null = null;
  private series = 0;
  private askedTime = 0;
  private timer = 0;
  private version = 0;
  private askedVersion = 0;
  private making: Promise<void> = Promise.resolve();

  constructor() {
    this.tools = [button("Undo stroke", ICONS.undo, () => this.undoStroke()), button("Clear", ICONS.close, () => this.clear())];
    this.element = h("div", { class: "easel-sheet" }, this.canvas, this.hint, h("div", { class: "easel-tools" }, ...this.tools));
    this.canvas.addEventListener("pointerdown", (event) => this.begin(event));
    this.canvas.addEventListener("pointermove", (event) => this.move(event));
    for (const end of ["pointerup", "pointercancel"] as const) this.canvas.addEventListener(end, (event) => this.end(event));
    new ResizeObserver(() => this.paint()).observe(this.canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.paint());
    project.follow(() => this.showHint());
    question.changed(() => this.showHint());
  }

  get isEmpty(): boolean {
    return this.strokes.length === 0;
  }

  blob(): Promise<Blob> {
    return drawingBlob(this.strokes, project.value?.input ?? "sketch", project.value?.size ?? 224);
  }

  get name(): string {
    return `drawing-${this.series}.png`;
  }

  clear(): void {
    this.strokes = [];
    this.series += 1;
    this.askedVersion = ++this.version;
    clearTimeout(this.timer);
    this.timer = 0;
    forget();
    this.paint();
  }

  undoStroke(): void {
    this.strokes.pop();
    this.version += 1;
    this.lastStrokeTime = this.isEmpty ? 0 : Date.now();
    this.paint();
    if (this.isEmpty) this.clear();
    else this.askNow();
  }

  askNow(): void {
    if (this.isEmpty) return;
    clearTimeout(this.timer);
    this.timer = 0;
    this.askedTime = performance.now();
    this.askedVersion = this.version;
    const { series, version } = this;
    this.making = this.blob().then((blob) => {
      if (series === this.series && version === this.askedVersion) void ask(this.name, blob, `drawing ${series}`);
    });
  }

  /** Until what is asked is what is drawn: a picture is taught as it is seen. */
  async settle(): Promise<void> {
    if (this.version !== this.askedVersion) this.askNow();
    await this.making;
  }

  private askSoon(): void {
    if (this.timer !== 0) return;
    this.timer = window.setTimeout(() => this.askNow(), Math.max(0, this.askedTime + ASK_EVERY_MS - performance.now()));
  }

  private begin(event: PointerEvent): void {
    if (event.button !== 0 || this.drawing !== null) return;
    // What was taught is finished: the next stroke begins the next drawing.
    if (question.value?.taughtAs && !this.isEmpty) this.clear();
    this.drawing = event.pointerId;
    this.canvas.setPointerCapture(event.pointerId);
    this.strokes.push([this.pointOf(event)]);
    this.version += 1;
    this.lastStrokeTime = Date.now();
    this.paint();
    event.preventDefault();
    // So that keys are keys again after a name was typed.
    if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
  }

  private move(event: PointerEvent): void {
    const stroke = this.strokes[this.strokes.length - 1];
    if (event.pointerId !== this.drawing || stroke === undefined) return;
    // Not there for a page that came from another machine without TLS.
    const all = "getCoalescedEvents" in event ? event.getCoalescedEvents() : [];
    stroke.push(...(all.length > 0 ? all : [event]).map((one) => this.pointOf(one)));
    this.version += 1;
    this.paint();
    this.askSoon();
  }

  private end(event: PointerEvent): void {
    if (event.pointerId !== this.drawing) return;
    this.drawing = null;
    this.lastStrokeTime = Date.now();
    this.askNow();
  }

  private pointOf(event: PointerEvent): Point {
    const box = this.canvas.getBoundingClientRect();
    return { x: ((event.clientX - box.left) / box.width) * UNITS, y: ((event.clientY - box.top) / box.height) * UNITS };
  }

  private paint(): void {
    const size = Math.round(this.canvas.clientWidth * devicePixelRatio);
    if (size === 0) return;
    if (this.canvas.width !== size || this.canvas.height !== size) this.canvas.width = this.canvas.height = size;
    const context = this.canvas.getContext("2d");
    if (context === null) return;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, size, size);
    context.scale(size / UNITS, size / UNITS);
    context.strokeStyle = computedColour("--ink");
    context.lineWidth = 6;
    drawStrokes(context, this.strokes);
    this.showHint();
  }

  private hintWords(): string {
    if (classes.value.length === 0) return project.value ? "Draw something, then name it" : "";
    return project.value?.read_only ? "Draw one of these" : "Draw one of these, or teach me something new";
  }

  private showHint(): void {
    this.hint.hidden = !this.isEmpty;
    this.hint.textContent = this.hintWords();
    for (const tool of this.tools) tool.disabled = this.isEmpty;
  }
}
