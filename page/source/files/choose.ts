import { h } from "../shared/dom";

/** The browser's own window for choosing files. */
export function chooseFiles(options: { folder?: boolean; several?: boolean; accept?: string }): Promise<File[]> {
  return new Promise((done) => {
    const input = h("input", { type: "file", accept: options.accept ?? "image/*", multiple: options.several ?? false, webkitdirectory: options.folder ?? false, class: "unseen", tabindex: -1, "aria-hidden": "true" });
    const end = (files: File[]) => {
      input.remove();
      done(files);
    };
    input.addEventListener("change", () => end(Array.from(input.files ?? [])));
    input.addEventListener("cancel", () => end([]));
    document.body.append(input);
    input.click();
  });
}

export function saveFile(name: string, blob: Blob): void {
  const address = URL.createObjectURL(blob);
  const link = h("a", { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
