import type { Config } from '../../config.ts';
import type { OwnerTemporal } from '../../contracts/owner.ts';
import { ensureToken } from '../instance/home/home.ts';
import { readStatus } from '../instance/status-report.ts';
import { urlsOf } from '../instance/urls.ts';
import { openBrowser } from '../setup/open.ts';

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

/** `fetch ui`: opens the list of the Temporal Web UI where there is a browser, by the link that lets it in. */
export async function run(config: Config, options: { print?: boolean }): Promise<void> {
  const { url, why } = await webUiLink(
    config,
    `/namespaces/${encodeURIComponent(config.TEMPORAL_NAMESPACE)}/workflows`,
  );
  if (url === null) throw new Error(why ?? '');
  process.stdout.write(`${url}\n`);
  if (options.print) return;
  process.stdout.write(
    'Open this once; the browser remembers it for 30 days, with the columns and the views: waits for a person, failed, spent most.\n',
  );
  if (process.stdout.isTTY) openBrowser(url);
}
