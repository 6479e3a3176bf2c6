import type { Config } from '../../config.ts';
import type { OwnerTemporal } from '../../contracts/owner.ts';
import { ensureToken } from '../instance/home/home.ts';
import { readStatus } from '../instance/status-report.ts';
import { urlsOf } from '../instance/urls.ts';

/** A link to a page of the Temporal Web UI that lets a browser in; or why there is none. `path` begins with a slash. */
export async function webUiLink(config: Config, path: string): Promise<OwnerTemporal> {
  // served by the api role, which may be a single one
  const own = config.TEMPORAL_ADDRESS !== undefined && config.FETCH_TEMPORAL_UI_URL !== undefined;
  const { running, urls } = own ? { running: true, urls: urlsOf(config) } : await readStatus(config);
  if (!running)
    return {
      url: null,
      why: config.TEMPORAL_ADDRESS ? NONE_NAMED : `Nothing runs for ${config.FETCH_HOME}. Start it: fetch start`,
    };
  if (!urls.temporalUi) return { url: null, why: NONE_NAMED };
  return { url: `${urls.temporalUi}${path}?token=${ensureToken(config.FETCH_HOME, 'ui-token')}`, why: null };
}

const NONE_NAMED =
  'The Temporal server is one of your own, and so is its Web UI. FETCH_TEMPORAL_UI_URL would let the api role serve it.';

/** `fetch ui`: the link that lets a browser into the Temporal Web UI. */
export async function run(config: Config): Promise<void> {
  const { url, why } = await webUiLink(config, '/');
  if (url === null) throw new Error(why ?? '');
  process.stdout.write(`${url}\nOpen this once; the browser remembers it for 30 days.\n`);
}
