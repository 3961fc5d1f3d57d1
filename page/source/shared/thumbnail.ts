import { project } from "../server/project";
import { thumbnailAddress } from "../server/request";
import { h } from "./dom";
import { showInk } from "./ink";

/** A classifier that is served without its pictures knows where they lie, not what they show. */
export function thumbnail(id: string, size: number): HTMLElement | null {
  if (project.value?.has_pictures === false) return null;
  const image = h("img", { class: "thumb", src: thumbnailAddress(id), alt: "", width: size, height: size, draggable: "false", decoding: "async" });
  showInk(image);
  return image;
}
