import { easel } from "../ask/easel";
import { teachShown } from "../ask/teach_shown";
import { said } from "../shared/notices";

const EVERY_MS = 100;

/** A click teaches what is shown. While the camera runs, holding teaches ten stills a second and counts them. */
export function teachWhileHeld(button: HTMLButtonElement, className: () => string, nothingShown: () => void): void {
  let timer = 0;
  let count = 0;
  let isBusy = false;
  const counter = (words: string) => {
    button.dataset["count"] = words;
  };
  const teachOne = async () => {
    if (isBusy) return;
    isBusy = true;
    const isTaught = await said(`Not taught as ${className()}`, teachShown(className()));
    isBusy = false;
    if (isTaught && easel.mode.value === "camera") counter(`+${++count}`);
    if (isTaught === false && easel.mode.value !== "camera") nothingShown();
  };
  const stop = () => {
    clearInterval(timer);
    timer = 0;
    setTimeout(() => counter(""), 1200);
  };
  button.addEventListener("pointerdown", (event) => {
    if (easel.mode.value !== "camera" || event.button !== 0) return;
    count = 0;
    // The card grows while it is taught, and the button moves from under the pointer.
    button.setPointerCapture(event.pointerId);
    timer = window.setInterval(() => void teachOne(), EVERY_MS);
    void teachOne();
  });
  for (const end of ["pointerup", "pointercancel"] as const) button.addEventListener(end, () => timer !== 0 && stop());
  button.addEventListener("click", (event) => {
    // With the camera, a mouse has taught by holding already; a keyboard has not.
    if (easel.mode.value !== "camera" || event.detail === 0) void teachOne();
  });
}
