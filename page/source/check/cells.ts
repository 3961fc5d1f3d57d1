import { canvasOf } from "../shared/canvas";
import { colourIndex, computedColour } from "../shared/colours";
import type { PlaneMap } from "../server/types";

type Cells = PlaneMap["cells"];
type Colour = readonly [number, number, number];

const RADIUS = 3;
const SIGMA = 1.2;

/** Cells come as runs of one class, row by row from the top. */
function classOfEach({ width, height, runs }: Cells): Uint16Array {
  const found = new Uint16Array(width * height);
  let at = 0;
  for (const [cell, length] of runs) {
    found.fill(cell, at, at + length);
    at += length;
  }
  return found;
}

function rgb(colour: string): Colour {
  const value = parseInt(colour.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

/** The cells around a place along one axis, and how much each of them counts there. */
function around(position: number, count: number): { cells: number[]; weights: number[] } {
  const middle = Math.floor(position);
  const offsets = Array.from({ length: 2 * RADIUS + 1 }, (_, i) => middle + i - RADIUS);
  const weights = offsets.map((cell) => Math.exp(-((cell + 0.5 - position) ** 2) / (2 * SIGMA ** 2)));
  const sum = weights.reduce((a, b) => a + b, 0);
  return { cells: offsets.map((cell) => Math.min(count - 1, Math.max(0, cell))), weights: weights.map((weight) => weight / sum) };
}

/** Flat tints with smooth borders at any size: a place belongs to the class that counts most around it, and borders are a pixel soft. */
export function paintCells(cells: Cells, width: number, height: number): HTMLCanvasElement {
  const { canvas, context } = canvasOf(width, height);
  const image = context.createImageData(width, height);
  const labels = classOfEach(cells);
  const tints = cells.classes.map((name) => rgb(computedColour(`--k${colourIndex(name)}`)));
  const columns = Array.from({ length: width }, (_, x) => around(((x + 0.5) * cells.width) / width, cells.width));
  const rows = Array.from({ length: height }, (_, y) => around(((y + 0.5) * cells.height) / height, cells.height));
  // How quickly one class gives way to the other across a border, in a pixel.
  const slope = (0.8 * cells.width) / (width * SIGMA);
  let at = 0;
  for (const row of rows) {
    for (const column of columns) {
      const corner = (i: number, j: number) => labels[(row.cells[i] ?? 0) * cells.width + (column.cells[j] ?? 0)] ?? 0;
      const last = 2 * RADIUS;
      const here = corner(RADIUS, RADIUS);
      const isInside = corner(0, 0) === here && corner(0, last) === here && corner(last, 0) === here && corner(last, last) === here;
      const colour = isInside ? tints[here] : borderColour(labels, cells.width, row, column, tints, slope);
      if (colour) image.data.set(colour, at);
      image.data[at + 3] = 255;
      at += 4;
    }
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

function borderColour(labels: Uint16Array, width: number, row: ReturnType<typeof around>, column: ReturnType<typeof around>, tints: readonly Colour[], slope: number): Colour | undefined {
  const sums = new Map<number, number>();
  row.cells.forEach((y, i) => column.cells.forEach((x, j) => {
    const label = labels[y * width + x] ?? 0;
    sums.set(label, (sums.get(label) ?? 0) + (row.weights[i] ?? 0) * (column.weights[j] ?? 0));
  }));
  const [first, second] = [...sums].sort((a, b) => b[1] - a[1]);
  const near = tints[first?.[0] ?? 0];
  const far = tints[second?.[0] ?? 0];
  if (!first || !second || !near || !far) return near;
  const share = Math.min(1, 0.5 + (first[1] - second[1]) / (2 * slope));
  return [0, 1, 2].map((k) => share * (near[k] ?? 0) + (1 - share) * (far[k] ?? 0)) as unknown as Colour;
}
