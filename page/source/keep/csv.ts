import type { Question } from "../ask/question";

/** The columns of `deepvoro predict`: file, class, nearest class, a probability per class, error. */
export function answersCsv(questions: readonly Question[], classNames: readonly string[]): string {
  const names = [...new Set([...classNames, ...questions.flatMap((one) => Object.keys(one.answer?.probabilities ?? {}))])].sort();
  const rows = questions.map(({ name, answer, error }) => [name, answer?.class ?? "", answer?.nearest ?? "", ...names.map((one) => numberText(answer?.probabilities[one])), error]);
  return [["file", "class", "nearest", ...names, "error"], ...rows].map((row) => row.map(field).join(",") + "\n").join("");
}

function numberText(value: number | undefined): string {
  return value === undefined ? "" : String(Number(value.toPrecision(6)));
}

function field(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}
