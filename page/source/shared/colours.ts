import type { ClassCount } from "../server/types";

/** How many colours of classes there are in the style sheet: --c0 to --c7, tints --k0 to --k7. */
const COLOURS = 8;
const chosen = new Map<string, number>();

/** A class keeps its colour while others come and go. Classes with pictures choose first: the others are on no map. */
export function chooseColours(classes: readonly ClassCount[]): void {
  const names = new Set(classes.map((one) => one.name));
  for (const name of chosen.keys()) if (!names.has(name)) chosen.delete(name);
  const uses = Array.from({ length: COLOURS }, (_, colour) => [...chosen.values()].filter((one) => one === colour).length);
  const isEmpty = (one: ClassCount) => Number(one.pictures === 0);
  for (const { name } of [...classes].sort((a, b) => isEmpty(a) - isEmpty(b))) {
    if (chosen.has(name)) continue;
    const colour = uses.indexOf(Math.min(...uses));
    chosen.set(name, colour);
    uses[colour] = (uses[colour] ?? 0) + 1;
  }
}

export function colourIndex(className: string): number {
  return chosen.get(className) ?? 0;
}

export function colourOf(className: string): string {
  return `var(--c${colourIndex(className)})`;
}

/** The colour as a canvas needs it. */
export function computedColour(variable: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(variable).trim();
}
