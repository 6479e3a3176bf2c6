import type { Config } from '../../config.ts';
import { readStatus } from '../findings/status/status-report.ts';
import { ensureToken } from '../instance/home/tokens.ts';

/** `fetch ui`: the link that lets a browser into the Web UI of the embedded Temporal server. */
export async function run(config: Config): Promise<void> {
  const { running, urls } = await readStatus(config);
  if (!running) throw new Error(`Nothing runs for ${config.FETCH_HOME}. Start it: fetch start`);
  if (!urls.temporalUi) throw new Error('The Temporal server is one of your own, and so is its Web UI.');
  process.stdout.write(`${urls.temporalUi}/?token=${ensureToken(config.FETCH_HOME, 'ui-token')}\nOpen this once; the browser remembers it for 30 days.\n`);
}
