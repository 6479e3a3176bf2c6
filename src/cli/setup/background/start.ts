import type { Config } from '../../../config.ts';
import { inForeground } from '../../instance/foreground.ts';
import { ensureHome } from '../../instance/home/home.ts';
import { claimOrExplain } from '../../instance/instance.ts';

/**
 * `fetch start`: on a terminal, a chat with an instance in the background; elsewhere, a service that logs JSON lines.
 */
export async function run(config: Config, reload: () => Config, flags: Record<string, string>): Promise<void> {
  // closing a terminal window closes its streams (main.ts handles the output)
  process.stdin.on('error', () => {});
  if (process.stdin.isTTY && process.stdout.isTTY) {
    await (await import('./terminal.ts')).run({ config, reload, flags });
  } else {
    ensureHome(config.FETCH_HOME);
    // for the life of this process, and before anything is stopped
    await claimOrExplain(config.FETCH_HOME);
    await inForeground(config, 1, ({ log, urls }) => log.info({ urls, home: config.FETCH_HOME }, 'ready'));
  }
  // the channel to a parent and an open terminal would keep a finished process alive
  process.exit();
}
