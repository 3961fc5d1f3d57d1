import { blobOf, canvasOf } from "../shared/canvas";
import { fill, h } from "../shared/dom";
import { ask, forget } from "./question";

const LIVE_MS = 200;
const LARGEST = 480;

/** Live answers, about five a second, while somebody looks. */
export class Camera {
  readonly element: HTMLElement;
  private readonly video = h("video", { class: "camera", playsinline: true, muted: true, "aria-label": "Camera" });
  private readonly words = h("p", { class: "pad-hint" });
  private stream: MediaStream | null = null;
  private timer = 0;
  private isAsking = false;
  private isHeld = false;
  private series = 0;

  constructor() {
    this.video.muted = true;
    this.element = h("div", { class: "easel-sheet" }, this.video, this.words);
  }

  async start(): Promise<void> {
    if (this.stream !== null) return;
    this.series += 1;
    this.hold(false);
    fill(this.words, "Waiting for the camera …");
    this.words.hidden = false;
    try {
      this.stream = await navigator.mediaDevices.getUserMedia({ video: { width: { ideal: 640 }, height: { ideal: 480 } }, audio: false });
    } catch (error) {
      fill(this.words, cameraProblem(error));
      return;
    }
    this.words.hidden = true;
    this.video.srcObject = this.stream;
    await this.video.play();
    this.timer = window.setInterval(() => void this.look(), LIVE_MS);
  }

  stop(): void {
    clearInterval(this.timer);
    for (const track of this.stream?.getTracks() ?? []) track.stop();
    if (this.stream) forget();
    this.stream = null;
    this.video.srcObject = null;
  }

  get isRunning(): boolean {
    return this.stream !== null && this.video.videoWidth > 0;
  }

  get name(): string {
    return `camera-${this.series}.jpg`;
  }

  toggleHeld(): void {
    this.hold(!this.isHeld);
  }

  /** While a still is explained or taught, the answer stays as it is. */
  hold(held: boolean): void {
    this.isHeld = held;
    this.element.classList.toggle("held", held && this.stream !== null);
  }

  /** The middle square of what the camera sees. Null while it sees nothing. */
  async still(): Promise<Blob | null> {
    if (!this.isRunning) return null;
    const { videoWidth: width, videoHeight: height } = this.video;
    const side = Math.min(width, height);
    const { canvas, context } = canvasOf(Math.min(side, LARGEST));
    context.drawImage(this.video, (width - side) / 2, (height - side) / 2, side, side, 0, 0, canvas.width, canvas.height);
    return blobOf(canvas, "image/jpeg");
  }

  private async look(): Promise<void> {
    if (this.isAsking || this.isHeld || document.visibilityState !== "visible") return;
    this.isAsking = true;
    const blob = await this.still();
    if (blob !== null && this.isRunning) await ask(this.name, blob, `camera ${this.series}`);
    this.isAsking = false;
  }
}

function cameraProblem(error: unknown): string {
  const name = error instanceof DOMException ? error.name : "";
  if (name === "NotAllowedError") return "The browser was not allowed to use the camera. Allow it in the address bar, then choose Camera again.";
  if (name === "NotFoundError") return "No camera was found.";
  if (name === "NotReadableError") return "Another program uses the camera.";
  return "The camera cannot be used here: this needs https or 127.0.0.1.";
}
