import { classes, movePicture, project, removePicture } from "../server/project";
import { pictureAddress } from "../server/request";
import { colourOf } from "./colours";
import { button, fill, h, ICONS } from "./dom";
import { showInk } from "./ink";
import { announce } from "./live";
import { said } from "./notices";

const dialog = h("dialog", { class: "picture-dialog", "aria-labelledby": "picture-title" });

export const pictureDialog = dialog;

/** One picture, large: where it belongs, and where else it could. */
export function openPicture(id: string, className: string, note = ""): void {
  const isReadOnly = project.value?.read_only ?? true;
  const others = classes.value.filter((one) => one.name !== className);
  const move = (to: string) => act(movePicture(id, to), `Moved to ${to}.`);
  const choices = others.map(({ name }) => {
    const dot = h("span", { class: "dot" });
    dot.style.background = colourOf(name);
    return h("button", { type: "button", class: "chip", click: () => move(name) }, dot, name);
  });
  const changes = h("div", { class: "dialog-changes" }, others.length > 0 ? h("p", { class: "soft" }, "Move to another class") : null, h("div", { class: "choices" }, ...choices), h("button", { type: "button", class: "danger", click: () => act(removePicture(id), "Removed. Control Z brings it back.") }, "Remove picture"));
  fill(dialog, h("header", {}, h("h2", { id: "picture-title" }, className), button("Close", ICONS.close, () => dialog.close())), project.value?.has_pictures === false ? h("p", {}, "What was learnt from this picture is kept, the picture itself is not.") : large(id, className), note ? h("p", { class: "soft" }, note) : null, isReadOnly ? null : changes);
  dialog.showModal();
}

function large(id: string, className: string): HTMLElement {
  const image = h("img", { class: "large thumb", src: pictureAddress(id), alt: `a picture of ${className}` });
  showInk(image);
  return image;
}

function act(doing: Promise<unknown>, words: string): void {
  dialog.close();
  void said("Not changed", doing.then(() => announce(words)));
}

dialog.addEventListener("click", (event) => {
  if (event.target === dialog) dialog.close();
});
