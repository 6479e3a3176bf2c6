import type { Config } from '../../../config.ts';
import { webUiLink } from './web-ui.ts';

/** `fetch ui`: the link that lets a browser into the Temporal Web UI. */
export async function run(config: Config): Promise<void> {
  const { url, why } = await webUiLink(config, '/');
  if (url === null) throw new Error(why ?? '');
  process.stdout.write(`${url}\nOpen this once; the browser remembers it for 30 days.\n`);
}
