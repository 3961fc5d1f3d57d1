/** How many colours of classes there are in the style sheet: --c0 to --c7, tints --k0 to --k7. */
const COLOURS = 8;
let order: readonly string[] = [];

export function orderClasses(names: readonly string[]): void {
  order = names;
}

export function colourIndex(className: string): number {
  return Math.max(0, order.indexOf(className)) % COLOURS;
}

export function colourOf(className: string): string {
  return `var(--c${colourIndex(className)})`;
}

/** The colour as a canvas needs it. */
export function computedColour(variable: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(variable).trim();
}
