export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

/** Never 100 %: nothing learnt from a few pictures is certain. */
export function percent(probability: number): string {
  if (probability > 0.99) return "99+ %";
  if (probability < 0.01) return "< 1 %";
  return `${Math.round(probability * 100)} %`;
}

export function distanceText(distance: number): string {
  return distance.toFixed(2);
}

/** A problem may name its picture first; where the name is shown, that is once too often. */
export function withoutName(name: string, problem: string): string {
  return problem.startsWith(`${name}: `) ? problem.slice(name.length + 2) : problem;
}

const LARGEST_MIB = 63;

/** Why a picture need not be sent: the server takes 64 MiB at once. */
export function sizeProblem(picture: Blob): string {
  return picture.size > LARGEST_MIB * 2 ** 20 ? `is larger than ${LARGEST_MIB} MiB; make it smaller` : "";
}

/** A name as the server keeps it: a Mac takes letters with accents apart. */
export function classNameIn(text: string): string {
  return text.trim().normalize("NFC");
}

/** Why a name cannot be one of a class, or nothing. */
export function nameProblem(name: string): string {
  const length = [...name].length;
  if (length === 0) return "A class needs a name.";
  if (length > 80) return "A name has at most 80 characters.";
  if (new TextEncoder().encode(name).length > 255) return "A name takes at most 255 bytes; an emoji takes 4.";
  if (/^[. ]/.test(name)) return "A name cannot begin with a dot or a space.";
  if (name.endsWith(".dv")) return "A name cannot end with .dv, as files of classifiers do.";
  if (name.toLowerCase() === "unknown") return "No class can be called unknown: that is the answer when a picture is in no class.";
  if (/[/\\\u0000-\u001f\u007f]/.test(name)) return "A name cannot contain / or \\.";
  return "";
}
