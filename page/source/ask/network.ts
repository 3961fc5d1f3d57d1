import { health, NoAnswer } from "../server/request";
import { refresh, watch } from "../server/project";
import { Signal } from "../shared/signal";
import { askAgain } from "./question";

/** Words while the network is being loaded, otherwise none. */
export const network = new Signal("");

const LOOK_AGAIN_MS = 400;
const LOOK_AT_PROJECT_MS = 3000;

/** The server has nothing to tell before the network is there. */
export async function watchNetwork(): Promise<void> {
  try {
    const told = await health();
    if (told.status === "ok") {
      network.value = "";
      await refresh();
      watch(LOOK_AT_PROJECT_MS);
      await askAgain();
      return;
    }
    const seconds = told.seconds_left;
    network.value = `The network is being loaded${seconds === undefined ? "" : `, about ${Math.max(1, Math.round(seconds))}\u00a0s`}. You can draw already.`;
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
  }
  setTimeout(() => void watchNetwork(), LOOK_AGAIN_MS);
}
