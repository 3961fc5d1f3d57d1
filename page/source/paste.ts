import { easel } from "./ask/easel";
import { fromTransfer } from "./files/dropped";

/** A picture from the clipboard is asked. */
export function watchPaste(): void {
  document.addEventListener("paste", (event) => {
    if (event.clipboardData === null || event.clipboardData.files.length === 0) return;
    event.preventDefault();
    void fromTransfer(event.clipboardData).then(({ loose }) => easel.askFiles(loose));
  });
}
