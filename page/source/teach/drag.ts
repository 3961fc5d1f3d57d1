import { fromTransfer } from "../files/dropped";
import type { Dropped } from "../files/dropped";
import { movePicture } from "../server/project";
import { announce } from "../shared/live";
import { said } from "../shared/notices";

const KIND = "application/x-deepvoro-picture";

export function takePicture(event: DragEvent, id: string, className: string): void {
  event.dataTransfer?.setData(KIND, JSON.stringify({ id, className }));
  if (event.dataTransfer) event.dataTransfer.effectAllowed = "move";
}

interface Target {
  /** Null where pictures of the project cannot be put. */
  className(): string | null;
  files(dropped: Dropped): void;
}

/** Makes an element take files and pictures that are dragged from a card. */
export function acceptDrops(element: HTMLElement, target: Target): void {
  const kindOf = (event: DragEvent) => {
    const types = event.dataTransfer?.types ?? [];
    if (types.includes("Files")) return "copy";
    return types.includes(KIND) && target.className() !== null ? "move" : "none";
  };
  const over = (event: DragEvent) => {
    const kind = kindOf(event);
    if (kind === "none" || event.dataTransfer === null) return;
    event.preventDefault();
    event.stopPropagation();
    event.dataTransfer.dropEffect = kind;
    element.classList.add("over");
  };
  element.addEventListener("dragenter", over);
  element.addEventListener("dragover", over);
  element.addEventListener("dragleave", (event) => {
    if (!(event.relatedTarget instanceof Node && element.contains(event.relatedTarget))) element.classList.remove("over");
  });
  element.addEventListener("drop", (event) => {
    element.classList.remove("over");
    const transfer = event.dataTransfer;
    if (transfer === null || kindOf(event) === "none") return;
    event.preventDefault();
    event.stopPropagation();
    if (transfer.types.includes("Files")) void fromTransfer(transfer).then((dropped) => target.files(dropped));
    else putPicture(transfer, target.className());
  });
}

function putPicture(transfer: DataTransfer, to: string | null): void {
  const { id, className } = JSON.parse(transfer.getData(KIND)) as { id: string; className: string };
  if (to === null || to === className) return;
  void said("Not moved", movePicture(id, to).then(() => announce(`Moved from ${className} to ${to}.`)));
}
