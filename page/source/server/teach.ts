import { newNumber, submit } from "./changes";
import { noteChange, refresh } from "./project";
import { classAddress, Refused } from "./request";
import type { Taught } from "./types";
import { sizeProblem } from "../shared/words";

export interface NamedPicture {
  name: string;
  blob: Blob;
}

export interface RefusedPicture {
  name: string;
  error: string;
}

export interface TaughtPictures {
  ids: string[];
  /** How many were in the class already. */
  known: number;
  refused: RefusedPicture[];
  /** On pictures that are in two classes. */
  notes: string[];
}

const MOST_PICTURES = 24;
const MOST_BYTES = 8_000_000;

/** Teaches pictures in batches small enough that progress is seen and one picture never waits long behind many. */
export async function teach(className: string, pictures: readonly NamedPicture[], progress: (done: number) => void = () => undefined, group = newNumber()): Promise<TaughtPictures> {
  const ids: string[] = [];
  const notes: string[] = [];
  let known = 0;
  const refused: RefusedPicture[] = [];
  let done = 0;
  for (const { name, blob } of pictures) if (sizeProblem(blob) !== "") refused.push({ name, error: sizeProblem(blob) });
  for (const batch of batches(pictures.filter(({ blob }) => sizeProblem(blob) === ""))) {
    const form = new FormData();
    for (const picture of batch) form.append("picture", picture.blob, picture.name);
    const taught = await submit<Taught>("POST", `${classAddress(className)}/pictures`, form, group).catch(allRefused);
    ids.push(...taught.added.map((one) => one.id), ...taught.known.map((one) => one.id));
    known += taught.known.length;
    notes.push(...taught.notes);
    refused.push(...taught.refused.map((one) => ({ name: batch[one.index]?.name ?? one.name, error: one.error })));
    done += batch.length;
    progress(done);
    void refresh();
  }
  noteChange();
  await refresh();
  return { ids, known, refused, notes };
}

/** Where no picture of a batch can be taught, the reasons come with the refusal. */
function allRefused(error: unknown): Taught {
  const told = error instanceof Refused ? (error.body as Partial<Taught> | null) : null;
  if (told?.refused === undefined) throw error;
  return { added: [], known: [], notes: [], revision: 0, ...told, refused: told.refused };
}

/** Teaches one, or says why not. */
export async function teachOne(className: string, picture: NamedPicture): Promise<TaughtPictures> {
  const taught = await teach(className, [picture]);
  if (taught.refused[0]) throw new Error(taught.refused[0].error);
  return taught;
}

function* batches(pictures: readonly NamedPicture[]): Generator<NamedPicture[]> {
  let batch: NamedPicture[] = [];
  let bytes = 0;
  for (const picture of pictures) {
    if (batch.length > 0 && (batch.length === MOST_PICTURES || bytes + picture.blob.size > MOST_BYTES)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(picture);
    bytes += picture.blob.size;
  }
  if (batch.length > 0) yield batch;
}
