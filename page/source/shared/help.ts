import { button, h, ICONS } from "./dom";

const KEYS: readonly [string, string][] = [
  ["1 – 9", "teach what is shown as that class"],
  ["Space", "ask again; with the camera, hold or go on"],
  ["/", "name a new class"],
  ["W", "the answer is wrong: say what it is"],
  ["D  P  C", "draw, picture, camera"],
  ["X", "clear the drawing"],
  ["Ctrl Z", "undo; Ctrl Shift Z redoes"],
  ["Ctrl V", "ask about a picture on the clipboard"],
  ["Arrows", "go through the pictures of a card"],
  ["Enter", "open a picture, move it"],
  ["Delete", "remove a picture"],
  ["E", "export, import, commands"],
  ["?", "these keys"],
];

const dialog = h("dialog", { class: "help", "aria-labelledby": "help-title" });
dialog.append(
  h("header", {}, h("h2", { id: "help-title" }, "Keyboard"), button("Close", ICONS.close, () => dialog.close())),
  h("dl", {}, ...KEYS.flatMap(([keys, words]) => [h("dt", {}, ...keys.split("  ").map((key) => h("kbd", {}, key))), h("dd", {}, words)])));
dialog.addEventListener("click", (event) => {
  if (event.target === dialog) dialog.close();
});

export const helpDialog = dialog;

export function openHelp(): void {
  dialog.showModal();
}
