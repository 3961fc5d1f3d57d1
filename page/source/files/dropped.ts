import type { NamedPicture } from "../server/teach";

/** What a person dropped, pasted or chose: folders are classes, loose pictures are not. */
export interface Dropped {
  loose: NamedPicture[];
  folders: Map<string, NamedPicture[]>;
}

const isHidden = (name: string) => name.startsWith(".") || name === "Thumbs.db" || name === "desktop.ini";

/** Has to be called while the event is handled: afterwards the browser forgets its files. */
export function fromTransfer(transfer: DataTransfer): Promise<Dropped> {
  const entries: FileSystemEntry[] = [];
  const files: File[] = [];
  for (const item of Array.from(transfer.items)) {
    if (item.kind !== "file") continue;
    const entry = item.webkitGetAsEntry();
    const file = item.getAsFile();
    if (entry?.isDirectory) entries.push(entry);
    else if (file) files.push(file);
  }
  return collect(entries, files);
}

async function collect(entries: readonly FileSystemEntry[], files: readonly File[]): Promise<Dropped> {
  const dropped: Dropped = { loose: files.map((file) => ({ name: file.name, blob: file })), folders: new Map() };
  for (const entry of entries) await collectFolder(entry as FileSystemDirectoryEntry, dropped.folders);
  return dropped;
}

/** A folder of pictures is a class; in a folder of folders each of those is one. */
async function collectFolder(folder: FileSystemDirectoryEntry, classes: Map<string, NamedPicture[]>): Promise<void> {
  for (const entry of await childrenOf(folder)) {
    if (entry.isFile) put(classes, folder.name, await fileOf(entry as FileSystemFileEntry));
    else for (const file of await filesBelow(entry as FileSystemDirectoryEntry)) put(classes, entry.name, file);
  }
}

async function filesBelow(folder: FileSystemDirectoryEntry): Promise<File[]> {
  const files: File[] = [];
  for (const entry of await childrenOf(folder)) {
    if (entry.isFile) files.push(await fileOf(entry as FileSystemFileEntry));
    else files.push(...(await filesBelow(entry as FileSystemDirectoryEntry)));
  }
  return files;
}

function put(classes: Map<string, NamedPicture[]>, folder: string, file: File): void {
  const className = folder.normalize("NFC");
  const pictures = classes.get(className) ?? [];
  pictures.push({ name: file.name, blob: file });
  classes.set(className, pictures);
}

async function childrenOf(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const children: FileSystemEntry[] = [];
  // The browser tells at most a hundred at a time.
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((done, failed) => reader.readEntries(done, failed));
    if (some.length === 0) break;
    children.push(...some);
  }
  return children.filter((entry) => !isHidden(entry.name)).sort((a, b) => (a.name < b.name ? -1 : 1));
}

function fileOf(entry: FileSystemFileEntry): Promise<File> {
  return new Promise((done, failed) => entry.file(done, failed));
}

/** Files of an <input webkitdirectory>, which tells their paths. */
export function fromChosenFolder(files: readonly File[]): Dropped {
  const folders = new Map<string, NamedPicture[]>();
  for (const file of files) {
    const parts = file.webkitRelativePath.split("/");
    if (parts.some(isHidden)) continue;
    put(folders, (parts.length > 2 ? parts[1] : parts[0]) ?? file.name, file);
  }
  return { loose: [], folders };
}
