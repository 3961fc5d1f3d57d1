import type { Answer, Check, ClassCount, Health, Picture, PlaneMap, Project } from "./types";

/** The server answered, and the answer is no. */
export class Refused extends Error {
  constructor(readonly status: number, message: string, readonly body: unknown = null) {
    super(message);
  }
}

/** Nobody answered. */
export class NoAnswer extends Error {}

const meta = document.querySelector<HTMLMetaElement>('meta[name="deepvoro-token"]');
let token = meta?.content ?? "";

async function send(path: string, options: RequestInit): Promise<Response> {
  try {
    return await fetch(path, { cache: "no-store", ...options });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new NoAnswer("The server does not answer.");
  }
}

async function checked(response: Response): Promise<Response> {
  if (response.ok) return response;
  let body: { error?: string } | null = null;
  try {
    body = (await response.json()) as { error?: string };
  } catch {
    // An answer of something between this page and the server: its status has to do.
  }
  throw new Refused(response.status, body?.error ?? `${response.status} ${response.statusText}`, body);
}

async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await checked(await send(path, signal ? { signal } : {}))).json() as Promise<T>;
}

/** A server that was started again has a new token, which its page tells. */
async function renewToken(): Promise<boolean> {
  const page = await (await send("/", {})).text();
  const renewed = new DOMParser().parseFromString(page, "text/html").querySelector<HTMLMetaElement>('meta[name="deepvoro-token"]')?.content ?? "";
  const isNew = renewed !== "" && renewed !== token;
  token = renewed || token;
  return isNew;
}

export async function change<T>(method: "POST" | "DELETE", path: string, body: BodyInit | null, headers: Record<string, string>): Promise<T> {
  const attempt = () => send(path, { method, body, headers: { "X-Deepvoro-Token": token, ...headers, ...(typeof body === "string" ? { "Content-Type": "application/json" } : {}) } });
  let response = await attempt();
  if (response.status === 403 && (await renewToken())) response = await attempt();
  return (await checked(response)).json() as Promise<T>;
}

const part = encodeURIComponent;

export function health(): Promise<Health> {
  return get("/api/health");
}

export function project(): Promise<Project> {
  return get("/api/project");
}

export function classes(): Promise<{ revision: number; classes: ClassCount[] }> {
  return get("/api/classes");
}

export async function pictures(className: string, from: number, count: number): Promise<Picture[]> {
  return (await get<{ pictures: Picture[] }>(`/api/classes/${part(className)}/pictures?from=${from}&count=${count}`)).pictures;
}

export function check(signal: AbortSignal): Promise<Check> {
  return get("/api/check", signal);
}

export function planeMap(signal: AbortSignal): Promise<PlaneMap> {
  return get("/api/map", signal);
}

export function pictureAddress(id: string): string {
  return `/api/pictures/${part(id)}`;
}

export function thumbnailAddress(id: string): string {
  return `/api/pictures/${part(id)}/thumbnail`;
}

export const classAddress = (className: string): string => `/api/classes/${part(className)}`;

/** Asks one picture; a newer question of the same kind may abort it. */
export async function predict(picture: Blob, name: string, signal: AbortSignal): Promise<Answer> {
  const body = new FormData();
  body.append("picture", picture, name);
  const response = await send("/api/predict?reject=1", { method: "POST", body, signal });
  const { answers } = (await (await checked(response)).json()) as { answers: Answer[] };
  const [answer] = answers;
  if (answer === undefined) throw new Refused(500, "The server gave no answer.");
  if (answer.error !== undefined) throw new Refused(400, answer.error);
  return answer;
}
