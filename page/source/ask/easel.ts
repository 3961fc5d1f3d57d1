import { chooseFiles } from "../files/choose";
import { project } from "../server/project";
import type { NamedPicture } from "../server/teach";
import { h, icon, ICONS } from "../shared/dom";
import { Signal } from "../shared/signal";
import { Camera } from "./camera";
import { Pad } from "./pad";
import { ask, askAgain, asked, forget, question } from "./question";

export type Mode = "draw" | "picture" | "camera";

/** Where pictures come from: drawn, dropped or seen. What it shows is asked at once, and can be taught. */
class Easel {
  readonly mode = new Signal<Mode>("draw");
  readonly pad = new Pad();
  readonly camera = new Camera();
  private readonly shown = h("img", { class: "shown", alt: "The picture that is asked" });
  private readonly choose = h("button", { type: "button", class: "choose", click: () => void this.chooseAndAsk() }, "Choose a picture …");
  private readonly pictureSheet = h("div", { class: "easel-sheet" }, this.shown, h("div", { class: "pad-hint" }, h("p", {}, "Drop or paste a picture"), this.choose));
  private readonly tabs = new Map<Mode, HTMLButtonElement>();
  readonly tabRow = h("div", { class: "tabs", role: "group", "aria-label": "Ask with" });
  readonly element = h("div", { class: "easel" });
  private shownBlob: Blob | null = null;
  private count = 0;

  constructor() {
    for (const [mode, name, path] of [["draw", "Draw", ICONS.draw], ["picture", "Picture", ICONS.picture], ["camera", "Camera", ICONS.camera]] as const) {
      const tab = h("button", { type: "button", click: () => this.use(mode) }, icon(path), name);
      this.tabs.set(mode, tab);
      this.tabRow.append(tab);
    }
    this.element.append(this.pad.element, this.pictureSheet, this.camera.element);
    this.shown.addEventListener("error", () => {
      this.pictureSheet.classList.remove("has-picture");
      this.shown.removeAttribute("src");
    });
    this.mode.follow((mode) => this.showMode(mode));
    question.changed(() => this.showPicture());
    project.changed((told) => {
      if (told?.input === "photograph" && this.count === 0 && this.mode.value === "draw" && this.pad.isEmpty) this.use("picture");
      this.count += 1;
    });
  }

  use(mode: Mode): void {
    if (mode === this.mode.value) {
      if (mode === "camera" && !this.camera.isRunning) void this.camera.start();
      return;
    }
    if (this.mode.value === "camera") this.camera.stop();
    this.mode.value = mode;
    if (mode === "camera") {
      forget();
      void this.camera.start();
    }
    if (mode === "draw") {
      if (this.pad.isEmpty) forget();
      else this.pad.askNow();
    }
    if (mode === "picture") {
      const last = [...asked.value].reverse().find((one) => one.series.startsWith("file "));
      if (last) question.value = last;
      else forget();
      void askAgain();
    }
  }

  async askFiles(files: readonly NamedPicture[]): Promise<void> {
    if (files.length === 0) return;
    this.use("picture");
    for (const file of files) await ask(file.name, file.blob, `file ${++this.count}`);
  }

  /** Until the question is what is seen. */
  async settle(): Promise<void> {
    if (this.mode.value === "draw") await this.pad.settle();
  }

  private async chooseAndAsk(): Promise<void> {
    await this.askFiles((await chooseFiles({ several: true })).map((file) => ({ name: file.name, blob: file })));
  }

  private showMode(mode: Mode): void {
    for (const [name, tab] of this.tabs) tab.setAttribute("aria-pressed", String(name === mode));
    this.pad.element.hidden = mode !== "draw";
    this.pictureSheet.hidden = mode !== "picture";
    this.camera.element.hidden = mode !== "camera";
    this.showPicture();
  }

  private showPicture(): void {
    const blob = this.mode.value === "picture" ? question.value?.blob ?? null : null;
    if (blob === this.shownBlob) return;
    if (this.shownBlob) URL.revokeObjectURL(this.shown.src);
    this.shownBlob = blob;
    this.pictureSheet.classList.toggle("has-picture", blob !== null);
    if (blob) this.shown.src = URL.createObjectURL(blob);
    else this.shown.removeAttribute("src");
  }
}

export const easel = new Easel();
