import type { Question } from "../ask/question";

const DIGITS = 6;

/** What `deepvoro predict --reject` writes: file, class, nearest class, a probability per class, error. */
export function answersCsv(questions: readonly Question[], classNames: readonly string[]): string {
  const names = [...new Set([...classNames, ...questions.flatMap((one) => Object.keys(one.answer?.probabilities ?? {}))])].sort();
  const rows = questions.map(({ name, answer, error }) => [name, answer?.class ?? "", answer?.nearest ?? "", ...names.map((one) => numberText(answer?.probabilities[one])), error]);
  return [["file", "class", "nearest", ...names, "error"], ...rows].map((row) => row.map(field).join(",") + "\n").join("");
}

/** As %.6g of C. */
function numberText(value: number | undefined): string {
  if (value === undefined) return "";
  if (value === 0) return "0";
  const [digits = "", power = "0"] = value.toExponential(DIGITS - 1).split("e");
  const exponent = Number(power);
  if (exponent >= -4 && exponent < DIGITS) return withoutZeros(value.toFixed(DIGITS - 1 - exponent));
  return `${withoutZeros(digits)}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

function withoutZeros(decimal: string): string {
  return decimal.includes(".") ? decimal.replace(/\.?0+$/, "") : decimal;
}

function field(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}
