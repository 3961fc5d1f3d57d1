import { project } from "../server/project";
import { canvasOf } from "./canvas";

const SIDE = 16;
const DARK = 48;
const COLOURED = 24;
const inks = new WeakMap<HTMLImageElement, CanvasImageSource>();

/** Light strokes on black, as a network of sketches knows them. */
function hasLightStrokes(image: HTMLImageElement): boolean {
  if (project.value?.input !== "sketch") return false;
  const { context } = canvasOf(SIDE);
  context.drawImage(image, 0, 0, SIDE, SIDE);
  const { data } = context.getImageData(0, 0, SIDE, SIDE);
  let sum = 0;
  for (let at = 0; at < data.length; at += 4) {
    const [red = 0, green = 0, blue = 0] = data.subarray(at, at + 3);
    if (Math.max(red, green, blue) - Math.min(red, green, blue) > COLOURED) return false;
    const [x, y] = [(at / 4) % SIDE, Math.floor(at / 4 / SIDE)];
    if (x === 0 || y === 0 || x === SIDE - 1 || y === SIDE - 1) sum += green;
  }
  return sum / (4 * (SIDE - 1)) < DARK;
}

/** On a light page light strokes are seen as they were drawn, in ink on paper; other pictures as they are. */
export function showInk(image: HTMLImageElement): void {
  image.addEventListener("load", () => image.classList.toggle("strokes", hasLightStrokes(image)));
}

/** The same for a canvas. */
export function inkOf(image: HTMLImageElement): CanvasImageSource {
  const known = inks.get(image);
  if (known) return known;
  let ink: CanvasImageSource = image;
  if (hasLightStrokes(image)) {
    const { canvas, context } = canvasOf(image.naturalWidth, image.naturalHeight);
    context.filter = "invert(1)";
    context.drawImage(image, 0, 0);
    ink = canvas;
  }
  inks.set(image, ink);
  return ink;
}
