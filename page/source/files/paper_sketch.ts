import { blobOf, canvasOf } from "../shared/canvas";
import { DRAWN, FRAME } from "./drawing";

const DARK = 96;

/** A file: ink on paper becomes a sketch; what is dark around the edge is one already and stays as it is. */
export async function asSketch(file: Blob): Promise<Blob> {
  let bitmap: ImageBitmap;
  try {
    bitmap = await createImageBitmap(file);
  } catch {
    return file; // a kind that the server may know, or no picture, which it will say
  }
  const sheet = greySheet(bitmap, bitmap.width, bitmap.height);
  const sketch = edgeMean(sheet) < DARK ? null : inked(sheet);
  return sketch === null ? file : blobOf(sketch);
}

/** The sketch on a sheet of paper, or null where nothing is drawn. */
export function sketchOf(source: CanvasImageSource, width: number, height: number): HTMLCanvasElement | null {
  return inked(greySheet(source, width, height));
}

interface Sheet {
  grey: Float32Array;
  columns: number;
  rows: number;
}

function greySheet(source: CanvasImageSource, width: number, height: number): Sheet {
  const scale = Math.min(1, 320 / Math.max(width, height));
  const columns = Math.max(1, Math.round(width * scale));
  const rows = Math.max(1, Math.round(height * scale));
  const { context } = canvasOf(columns, rows);
  context.fillStyle = "#fff";
  context.fillRect(0, 0, columns, rows);
  context.drawImage(source, 0, 0, columns, rows);
  return { grey: greyOf(context.getImageData(0, 0, columns, rows).data), columns, rows };
}

function inked({ grey, columns, rows }: Sheet): HTMLCanvasElement | null {
  const ink = inkOf(grey, columns, rows);
  const box = inkBox(ink, columns, rows);
  return box === null ? null : framed(ink, columns, rows, box);
}

function greyOf(pixels: Uint8ClampedArray): Float32Array {
  const grey = new Float32Array(pixels.length / 4);
  for (let i = 0; i < grey.length; ++i) grey[i] = 0.299 * (pixels[4 * i] ?? 0) + 0.587 * (pixels[4 * i + 1] ?? 0) + 0.114 * (pixels[4 * i + 2] ?? 0);
  return grey;
}

function edgeMean({ grey, columns, rows }: Sheet): number {
  let sum = 0;
  let count = 0;
  for (let y = 0; y < rows; ++y) {
    for (let x = 0; x < columns; x += y === 0 || y === rows - 1 ? 1 : Math.max(1, columns - 1)) {
      sum += grey[y * columns + x] ?? 0;
      ++count;
    }
  }
  return sum / count;
}

/** Darker than the paper around it: light falls unevenly on paper, so each place has its own white. */
function inkOf(grey: Float32Array, columns: number, rows: number): Uint8ClampedArray {
  const paper = localMean(grey, columns, rows, Math.max(8, Math.round(Math.max(columns, rows) / 8)));
  const ink = new Uint8ClampedArray(grey.length);
  for (let i = 0; i < ink.length; ++i) ink[i] = (((paper[i] ?? 0) - (grey[i] ?? 0) - 24) * 255) / 48;
  return ink;
}

/** Means over squares, by sums over all that is above and left. */
function localMean(grey: Float32Array, columns: number, rows: number, radius: number): Float32Array {
  const wide = columns + 1;
  const sums = new Float64Array(wide * (rows + 1));
  for (let y = 0; y < rows; ++y) {
    let line = 0;
    for (let x = 0; x < columns; ++x) {
      line += grey[y * columns + x] ?? 0;
      sums[(y + 1) * wide + x + 1] = (sums[y * wide + x + 1] ?? 0) + line;
    }
  }
  const means = new Float32Array(grey.length);
  for (let y = 0; y < rows; ++y) {
    const top = Math.max(0, y - radius);
    const bottom = Math.min(rows, y + radius + 1);
    for (let x = 0; x < columns; ++x) {
      const left = Math.max(0, x - radius);
      const right = Math.min(columns, x + radius + 1);
      const sum = (sums[bottom * wide + right] ?? 0) - (sums[top * wide + right] ?? 0) - (sums[bottom * wide + left] ?? 0) + (sums[top * wide + left] ?? 0);
      means[y * columns + x] = sum / ((bottom - top) * (right - left));
    }
  }
  return means;
}

interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

function inkBox(ink: Uint8ClampedArray, columns: number, rows: number): Box | null {
  let left = columns;
  let right = -1;
  let top = rows;
  let bottom = -1;
  for (let y = 0; y < rows; ++y) {
    for (let x = 0; x < columns; ++x) {
      if ((ink[y * columns + x] ?? 0) < 128) continue;
      left = Math.min(left, x);
      right = Math.max(right, x);
      top = Math.min(top, y);
      bottom = Math.max(bottom, y);
    }
  }
  return right < 0 ? null : { left, top, width: right - left + 1, height: bottom - top + 1 };
}

function framed(ink: Uint8ClampedArray, columns: number, rows: number, box: Box): HTMLCanvasElement {
  const sheet = canvasOf(columns, rows);
  const image = sheet.context.createImageData(columns, rows);
  for (let i = 0; i < ink.length; ++i) {
    image.data.fill(ink[i] ?? 0, 4 * i, 4 * i + 3);
    image.data[4 * i + 3] = 255;
  }
  sheet.context.putImageData(image, 0, 0);
  const { canvas, context } = canvasOf(FRAME);
  const scale = DRAWN / Math.max(box.width, box.height);
  context.fillRect(0, 0, FRAME, FRAME);
  context.imageSmoothingQuality = "high";
  context.drawImage(sheet.canvas, box.left, box.top, box.width, box.height, (FRAME - box.width * scale) / 2, (FRAME - box.height * scale) / 2, box.width * scale, box.height * scale);
  return canvas;
}
