type Child = Node | string | null;
type Attribute = string | number | boolean | ((event: never) => void);

/** An element: functions become listeners, true an empty attribute, false none. */
export function h<K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Record<string, Attribute> = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value as EventListener);
    else if (typeof value === "boolean") element.toggleAttribute(name, value);
    else element.setAttribute(name, String(value));
  }
  fill(element, ...children);
  return element;
}

export function fill(element: Element, ...children: Child[]): void {
  element.replaceChildren(...children.filter((child): child is Node | string => child !== null));
}

/** Makes the children of an element agree with a list, keeping the nodes (and focus) of keys that stay. */
export function keepChildren<T, E extends HTMLElement>(parent: Element, items: readonly T[], keyOf: (item: T) => string, make: (item: T) => E, update: (node: E, item: T, index: number) => void): void {
  const old = new Map<string, E>();
  for (const node of Array.from(parent.children) as E[]) old.set(node.dataset["key"] ?? "", node);
  let place: Element | null = parent.firstElementChild;
  items.forEach((item, index) => {
    const key = keyOf(item);
    let node = old.get(key);
    if (node === undefined) {
      node = make(item);
      node.dataset["key"] = key;
    }
    old.delete(key);
    if (node === place) place = place.nextElementSibling;
    else parent.insertBefore(node, place);
    update(node, item, index);
  });
  for (const node of old.values()) node.remove();
}

const SVG = "http://www.w3.org/2000/svg";

/** An icon of 20 by 20 made of stroked paths; decoration, so that its button has to have a name. */
export function icon(path: string): SVGElement {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 20 20");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const line = document.createElementNS(SVG, "path");
  line.setAttribute("d", path);
  svg.append(line);
  return svg;
}

export const ICONS = {
  undo: "M7 4 3 8l4 4M3 8h8.5a4.5 4.5 0 0 1 0 9H8",
  redo: "m13 4 4 4-4 4M17 8H8.500a4.500 4.500 0 0 0 0 9H12",
  plus: "M10 4v12M4 10h12",
  folder: "M2.500 4.500h5l2 2.500h8v9.500h-15zM2.500 9h15",
  remove: "M4 6h12M8 6V4h4v2M6 6l.7 10.500h6.600L14 6",
  close: "m5 5 10 10M15 5 5 15",
  draw: "m4 16 1-4 8.500-8.500 3 3L8 15z",
  camera: "M3 6h3l1.500-2h5L14 6h3v10H3zM10 13.500a2.800 2.800 0 1 0 0-5.600 2.800 2.800 0 0 0 0 5.600",
  picture: "M3 4h14v12H3zM3 14l4-4 3 3 3-4 4 5M7 8.200a.8.8 0 1 0 0-1.600.8.8 0 0 0 0 1.600",
  save: "M10 3v9M6 8.500l4 4 4-4M4 16.500h12",
  keys: "M10 18a8 8 0 1 0 0-16 8 8 0 0 0 0 16M7.700 7.500a2.300 2.300 0 1 1 3.300 2.100c-.7.400-1 .8-1 1.600M10 13.800v.4",
};

export function button(name: string, path: string, click: (event: MouseEvent) => void, attributes: Record<string, Attribute> = {}): HTMLButtonElement {
  return h("button", { type: "button", class: "plain", "aria-label": name, title: name, click, ...attributes }, icon(path));
}
