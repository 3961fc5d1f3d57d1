import { asked } from "../ask/question";
import { chooseFiles, saveFile } from "../files/choose";
import { classes, importProject, project } from "../server/project";
import { button, fill, h, ICONS } from "../shared/dom";
import { announce } from "../shared/live";
import { notice, said } from "../shared/notices";
import { place } from "../shared/place";
import { counted } from "../shared/words";
import { answersCsv } from "./csv";

const content = h("div", { class: "keep-body" });
const dialog = h("dialog", { class: "keep", "aria-labelledby": "keep-title" });
dialog.append(h("header", {}, h("h2", { id: "keep-title" }, "Export and import"), button("Close", ICONS.close, () => dialog.close())), content);

export const keepDialog = dialog;

export function openKeep(): void {
  const told = project.value;
  if (told === null) return;
  const isEmpty = classes.value.length === 0;
  fill(
    content,
    h("p", {}, `Everything is saved as you teach, in a ${told.has_pictures ? "plain folder" : "file"} on ${place}: `, h("code", {}, told.folder)),
    h("div", { class: "keep-actions" },
      download("Project as .zip", "/api/project.zip", `${told.name}.zip`, "The pictures, a folder per class, and the classifier", isEmpty),
      download("Classifier as .dv", "/api/classifier", `${told.name}.dv`, "Answers exactly as this page does", isEmpty),
      action("Answers as .csv", asked.value.length === 0 ? "Nothing was asked yet" : `${counted(asked.value.length, "picture")} asked since the page was opened`, asked.value.length === 0, saveAnswers),
      told.read_only ? null : action("Import a .zip …", "A project, or pictures in a folder per class", false, () => void importZip())),
    h("h3", {}, "The same from the command line"),
    h("ul", { class: "commands" }, ...told.commands.map(command)));
  dialog.showModal();
}

function download(name: string, address: string, file: string, words: string, isOff: boolean): HTMLElement {
  const link = h("a", { class: "action", ...(isOff ? { "aria-disabled": "true" } : { href: address, download: file }) }, h("strong", {}, name), h("span", { class: "soft" }, words));
  return link;
}

function action(name: string, words: string, isOff: boolean, act: () => void): HTMLElement {
  return h("button", { type: "button", class: "action", disabled: isOff, click: act }, h("strong", {}, name), h("span", { class: "soft" }, words));
}

function command(words: string): HTMLElement {
  const copy = h("button", { type: "button", "aria-label": `Copy: ${words}`, click: () => void copied() }, "Copy");
  const copied = async () => {
    await navigator.clipboard.writeText(words);
    copy.textContent = "Copied";
    announce("Copied.");
    setTimeout(() => { copy.textContent = "Copy"; }, 1500);
  };
  // Browsers lend the clipboard to pages of this machine and of https alone.
  return h("li", {}, h("code", {}, words), "clipboard" in navigator ? copy : null);
}

function saveAnswers(): void {
  saveFile(`${project.value?.name ?? "answers"}-answers.csv`, new Blob([answersCsv(asked.value, classes.value.filter((one) => one.pictures > 0).map((one) => one.name))], { type: "text/csv" }));
}

async function importZip(): Promise<void> {
  const [file] = await chooseFiles({ accept: ".zip,application/zip" });
  if (file === undefined) return;
  dialog.close();
  const taught = await said(`${file.name} was not imported`, importProject(file));
  if (taught === undefined) return;
  const known = taught.known.length === 0 ? "" : `, ${counted(taught.known.length, "more was", "more were")} there already`;
  notice(`Imported ${counted(taught.added.length, "picture")} of ${file.name}${known}: now ${counted(classes.value.length, "class", "classes")}.`, taught.notes, taught.notes.length > 0);
}

dialog.addEventListener("click", (event) => {
  if (event.target === dialog) dialog.close();
});
