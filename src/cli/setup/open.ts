import { reasonOf } from '../../client/api-request.ts';
import type { Config } from '../../config.ts';
import { runningInstance } from '../instance/running-instance.ts';
import { openBrowser } from './browser.ts';

const PATIENCE_MS = 10_000;

/**
 * `fetch open`: the link to the owner's page, with the token that lets a browser in; opened where there is a person and
 * a browser.
 */
export async function run(config: Config, options: { print?: boolean }): Promise<void> {
  const { baseUrl, token } = runningInstance(config);
  try {
    await fetch(`${baseUrl}/health`, { signal: AbortSignal.timeout(PATIENCE_MS) });
  } catch (error) {
    throw new Error(
      `No Fetch answers at ${baseUrl}: ${reasonOf(error)}. Start one with "fetch up", or look at "fetch status".`,
    );
  }
  const link = `${baseUrl}/?token=${encodeURIComponent(token)}`;
  process.stdout.write(`${link}\n`);
  if (options.print) return;
  process.stdout.write(
    'Open this once; the browser remembers it for 180 days. Who has the link may do what you may.\n',
  );
  if (process.stdout.isTTY) openBrowser(link);
}
