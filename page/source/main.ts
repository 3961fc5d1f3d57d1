import "../style/base.css";
import "../style/teach.css";
import "../style/ask.css";
import "../style/check.css";
import "../style/dialogs.css";
import "../style/touch.css";
import { askPanel } from "./ask/ask";
import { easel } from "./ask/easel";
import { watchNetwork } from "./ask/network";
import { checkPanel, watchCheck } from "./check/check";
import { keepDialog, openKeep } from "./keep/keep";
import { watchKeys } from "./keys";
import { watchPaste } from "./paste";
import { project } from "./server/project";
import { banner, watchBanner } from "./shared/banner";
import { button, h, icon, ICONS } from "./shared/dom";
import { helpDialog, openHelp } from "./shared/help";
import { liveRegion } from "./shared/live";
import { noticeArea } from "./shared/notices";
import { pictureDialog } from "./shared/picture_dialog";
import { place, promise } from "./shared/place";
import { acceptDrops } from "./teach/drag";
import { newClass, teachPanel } from "./teach/teach";

const projectName = h("span", { class: "project" });
const header = h("header", { class: "top" },
  h("h1", {}, "deepvoro"), projectName,
  h("span", { class: "promise", title: `Pictures, answers and classes stay there: this page talks to the program on ${place} alone` }, promise),
  h("button", { type: "button", class: "plain", click: openKeep, title: "Export, import, commands" }, icon(ICONS.save), "Export"),
  button("Keyboard", ICONS.keys, openHelp));
const halves = h("div", { class: "halves" }, teachPanel, askPanel);
const main = h("main", { class: "untold" }, halves, checkPanel);

document.body.append(h("a", { class: "skip", href: "#ask-title" }, "Skip to Ask"), header, banner, noticeArea, main, liveRegion, keepDialog, helpDialog, pictureDialog);

project.changed((told) => {
  if (told === null) return;
  main.classList.remove("untold");
  projectName.textContent = told.name;
  projectName.title = `${told.folder}, network ${told.backbone}`;
  document.title = `${told.name} · deepvoro`;
});

// Folders teach, wherever they are dropped; pictures ask, unless they are dropped on a card.
acceptDrops(document.body, {
  className: () => null,
  files: ({ loose, folders }) => {
    if (folders.size > 0) void newClass.drop({ loose: [], folders });
    void easel.askFiles(loose);
  },
});
watchBanner();
watchCheck();
watchKeys();
watchPaste();
void watchNetwork();
