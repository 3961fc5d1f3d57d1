import { teachOne } from "../server/teach";
import { tellCopies } from "../shared/copies";
import { easel } from "./easel";
import { question, teachQuestion } from "./question";

/** Teaches what the easel shows; false when it shows nothing. */
export async function teachShown(className: string): Promise<boolean> {
  if (easel.mode.value !== "camera") {
    await easel.settle();
    if (question.value === null) return false;
    await teachQuestion(className);
    return true;
  }
  const still = await easel.camera.still();
  if (still === null) return false;
  const { known, notes } = await teachOne(className, { name: easel.camera.name, blob: still });
  tellCopies(known, notes);
  return true;
}
