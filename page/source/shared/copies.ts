import { notice } from "./notices";
import { counted } from "./words";

/** Tells of pictures that were there before: in the class itself, which are known, or in another one, which notes name. */
export function tellCopies(known: number, notes: readonly string[]): void {
  if (known > 0) notice(`${counted(known, "picture was", "pictures were")} in the class already and ${known === 1 ? "was" : "were"} not added again.`);
  if (notes.length > 0) notice("The same picture is in two classes.", notes);
}
