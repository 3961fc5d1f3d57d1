import { newNumber } from "../server/changes";
import { teach } from "../server/teach";
import type { NamedPicture, RefusedPicture } from "../server/teach";
import { tellCopies } from "../shared/copies";
import { announce } from "../shared/live";
import { notice, progressNotice } from "../shared/notices";
import { counted, nameProblem } from "../shared/words";

const FEW = 12;

/** Teaches files, tells how far it is when they are many, and which ones were refused and why. */
export async function teachFiles(groups: ReadonlyMap<string, readonly NamedPicture[]>): Promise<void> {
  const total = [...groups.values()].reduce((sum, pictures) => sum + pictures.length, 0);
  const refused: RefusedPicture[] = [];
  const notes: string[] = [];
  let known = 0;
  const progress = progressNotice();
  const group = newNumber();
  let before = 0;
  try {
    for (const [className, pictures] of groups) {
      const problem = nameProblem(className);
      if (problem !== "") {
        refused.push({ name: className, error: problem });
        continue;
      }
      const show = (done: number) => {
        if (total > FEW) progress.show(`Teaching ${(before + done).toLocaleString("en")} of ${counted(total, "picture")}: ${className}`, (before + done) / total);
      };
      show(0);
      const taught = await teach(className, pictures, show, group);
      refused.push(...taught.refused);
      notes.push(...taught.notes);
      known += taught.known;
      before += pictures.length;
    }
    announce(`Taught ${counted(total - refused.length - known, "picture")}.`);
  } catch (error) {
    notice(`Not everything was taught: ${error instanceof Error ? error.message : String(error)}`);
  }
  progress.close();
  tellCopies(known, notes);
  if (refused.length > 0) notice(`${counted(refused.length, "picture was", "pictures were")} refused; ${refused.length < total ? "the others are taught" : "nothing was taught"}.`, refused.map(({ name, error }) => error.startsWith(`${name}: `) ? error : `${name}: ${error}`));
}
