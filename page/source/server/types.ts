/** What the server says. */
export interface Health {
  status: "ok" | "loading";
  version: string;
  backbone?: string;
  seconds_left?: number;
}

export interface Project {
  name: string;
  folder: string;
  read_only: boolean;
  has_pictures: boolean;
  backbone: string;
  size: number;
  input: "sketch" | "photograph";
  revision: number;
  undo: string | null;
  redo: string | null;
  commands: string[];
}

export interface ClassCount {
  name: string;
  pictures: number;
}

export interface Picture {
  id: string;
  wrong: boolean;
  doubt: number;
}

export interface Why {
  nearest: { id: string; class: string; distance: number }[];
  views: { view: string; class: string }[];
  diagrams: { diagram: string; class: string }[];
  distance: number;
  threshold: number;
}

export interface Answer {
  file?: string;
  class: string;
  nearest: string;
  unknown: boolean;
  distance: number;
  threshold: number;
  probabilities: Record<string, number>;
  why?: Why;
  error?: string;
}

export interface Taught {
  added: { id: string }[];
  known: { index: number; name: string; id: string }[];
  refused: { index: number; name: string; error: string }[];
  notes: string[];
  revision: number;
}

export interface Doubted {
  id: string;
  class: string;
  answer: string;
  probability: number;
}

export interface Check {
  accuracy: number;
  right: number;
  of: number;
  confusion: { classes: string[]; counts: number[][] };
  wrong: Doubted[];
  doubtful: Doubted[];
}

export interface PlaneMap {
  points: { id: string; class: string; x: number; y: number }[];
  cells: { width: number; height: number; classes: string[]; runs: [number, number][] };
  bounds: [number, number, number, number];
}
