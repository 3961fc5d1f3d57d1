import { newNumber } from "../server/changes";
import { teach } from "../server/teach";
import type { NamedPicture } from "../server/teach";
import { tellCopies } from "../shared/copies";
import { announce } from "../shared/live";
import { notice, progressNotice } from "../shared/notices";
import { counted, nameProblem } from "../shared/words";

const FEW = 12;

/** Teaches files, tells how far it is when they are many, and which ones were refused and why. */
export async function teachFiles(groups: ReadonlyMap<string, readonly NamedPicture[]>): Promise<void> {
  const total = [...groups.values()].reduce((sum, pictures) => sum + pictures.length, 0);
  const refused: string[] = [];
  const untaught: string[] = [];
  const notes: string[] = [];
  let known = 0;
  let added = 0;
  const progress = progressNotice();
  const group = newNumber();
  let before = 0;
  for (const [className, pictures] of groups) {
    const show = (done: number) => {
      if (total > FEW) progress.show(`Teaching ${(before + done).toLocaleString("en")} of ${counted(total, "picture")}: ${className}`, (before + done) / total);
    };
    show(0);
    try {
      const problem = nameProblem(className);
      if (problem !== "") throw new Error(problem);
      const taught = await teach(className, pictures, show, group);
      refused.push(...taught.refused.map(({ name, error }) => `${name}: ${error}`));
      notes.push(...taught.notes);
      known += taught.known;
      added += taught.ids.length - taught.known;
    } catch (error) {
      untaught.push(`${className}: ${error instanceof Error ? error.message : String(error)}`);
    }
    before += pictures.length;
  }
  progress.close();
  announce(`Taught ${counted(added, "picture")}.`);
  tellCopies(known, notes);
  if (untaught.length > 0) notice(`${counted(untaught.length, "class was", "classes were")} not taught.`, untaught);
  if (refused.length > 0) notice(`${counted(refused.length, "picture was", "pictures were")} refused; ${added > 0 ? "the others are taught" : "nothing was taught"}.`, refused);
}
