import type { Call } from '../background/background.ts';

/** `fetch acp`: an agent for editors that speak the Agent Client Protocol, on stdin and stdout. Returns when the editor has left. */
export async function runAcp({ config }: Call): Promise<void> {
  throw new Error(`Not built yet (${config.FETCH_HOME})`);
}
