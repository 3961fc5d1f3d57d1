import { blobOf, canvasOf } from "../shared/canvas";

/** The network of sketches knows white strokes on black, in the middle, the longer side 7/8 of the frame. */
const FRAME = 128;
const STROKE = 4.6;

export interface Point {
  x: number;
  y: number;
}

export type Stroke = readonly Point[];

export function drawStrokes(context: CanvasRenderingContext2D, strokes: readonly Stroke[]): void {
  context.lineCap = context.lineJoin = "round";
  for (const stroke of strokes) {
    const [first, ...rest] = stroke;
    if (first === undefined) continue;
    context.beginPath();
    context.moveTo(first.x, first.y);
    if (rest.length === 0) context.lineTo(first.x + 0.01, first.y);
    for (const point of rest) context.lineTo(point.x, point.y);
    context.stroke();
  }
}

function boxOf(strokes: readonly Stroke[]): { x: number; y: number; width: number; height: number } {
  const points = strokes.flat();
  const xs = points.map((point) => point.x);
  const ys = points.map((point) => point.y);
  const x = Math.min(...xs);
  const y = Math.min(...ys);
  return { x, y, width: Math.max(...xs) - x, height: Math.max(...ys) - y };
}

/** The drawing as a picture of the project's kind. */
export function drawingBlob(strokes: readonly Stroke[], input: "sketch" | "photograph", size: number): Promise<Blob> {
  const isSketch = input === "sketch";
  const frame = isSketch ? FRAME : Math.max(size, 224);
  const { canvas, context } = canvasOf(frame);
  context.fillStyle = isSketch ? "#000" : "#fff";
  context.fillRect(0, 0, frame, frame);
  const box = boxOf(strokes);
  const width = (STROKE * frame) / FRAME;
  // A dot stays a dot.
  const scale = ((frame * 7) / 8 - width) / Math.max(box.width, box.height, 24);
  context.translate(frame / 2, frame / 2);
  context.scale(scale, scale);
  context.translate(-(box.x + box.width / 2), -(box.y + box.height / 2));
  context.lineWidth = width / scale;
  context.strokeStyle = isSketch ? "#fff" : "#000";
  drawStrokes(context, strokes);
  return blobOf(canvas);
}
