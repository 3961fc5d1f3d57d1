import { button, h, ICONS } from "./dom";

const KEYS: readonly [string, string][] = [
  ["1 – 9", "teach what is shown into that card"],
  ["Space", "ask again; with the camera, hold or go on"],
  ["/", "name a new class"],
  ["W", "wrong? say what it is"],
  ["D  P  C", "draw, picture, camera"],
  ["X", "clear the drawing"],
  ["Ctrl Z", "undo; Ctrl Shift Z does it again"],
  ["Ctrl V", "ask a picture from the clipboard"],
  ["Arrows", "go through the pictures of a card"],
  ["Enter", "open a picture, move it"],
  ["Delete", "remove a picture"],
  ["K", "keep: export, import, commands"],
  ["?", "these keys"],
];

const dialog = h("dialog", { class: "help", "aria-labelledby": "help-title" });
dialog.append(
  h("header", {}, h("h2", { id: "help-title" }, "Keys"), button("Close", ICONS.close, () => dialog.close())),
  h("dl", {}, ...KEYS.flatMap(([keys, words]) => [h("dt", {}, ...keys.split("  ").map((key) => h("kbd", {}, key))), h("dd", {}, words)])));
dialog.addEventListener("click", (event) => {
  if (event.target === dialog) dialog.close();
});

export const helpDialog = dialog;

export function openHelp(): void {
  dialog.showModal();
}
