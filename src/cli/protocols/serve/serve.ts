import { renderUnicodeCompact } from 'uqr';
import { type Config, loadConfig, printWarnings } from '../../../config.ts';
import { inForeground } from '../../instance/foreground.ts';
import { ensureHome } from '../../instance/home/home.ts';
import { claimHome, HeldError } from '../../instance/home/start-lock.ts';
import { ensureToken } from '../../instance/home/tokens.ts';
import { logReporter } from '../../instance/progress.ts';
import { untilServing } from '../../setup/background/follow-start.ts';
import { announcement, mobileLinks, NETWORK_WARNING, weakTokenWarning } from './announce.ts';
import { requireFitting, untilEnd } from './attach.ts';
import { hostIsWild, requireMode, type ServeOptions, settingsOf } from './settings.ts';

/**
 * `fetch serve`: for a supervisor that starts Fetch and reads its address. Where an instance runs already, this process
 * stands for it: it tells the same and ends with it. Standard output has the lines of the contract alone; the log is on
 * standard error.
 */
export async function run(options: ServeOptions, flags: Record<string, string>): Promise<void> {
  requireMode(options);
  const settings = settingsOf(options, flags);
  const reload = () => loadConfig(settings);
  const config = reload();
  printWarnings(config);
  if (options.acp) return await (await import('../acp/acp.ts')).runAcp({ config, reload, flags: settings });
  if (options.mcp) return await (await import('../mcp/mcp-server.ts')).runMcp({ config, reload, flags: settings });
  const warnings = [options.mobile && hostIsWild(config) ? NETWORK_WARNING : null, weakTokenWarning(config)];
  for (const warning of warnings) if (warning) say(process.stderr, warning);
  ensureHome(config.FETCH_HOME);
  if (await claimed(config.FETCH_HOME)) await inForeground(config, 2, () => announce(config, options));
  else await attach(config, options);
  // the channel to a parent and an open terminal would keep a finished process alive
  process.exit();
}

/** False: another process runs this home, or is starting it. */
async function claimed(home: string): Promise<boolean> {
  try {
    await claimHome(home);
    return true;
  } catch (error) {
    if (error instanceof HeldError) return false;
    throw error;
  }
}

async function attach(config: Config, options: ServeOptions): Promise<void> {
  const left = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => left.abort(new Error('Stopped while starting.')));
  const report = logReporter({
    info: (text) => say(process.stderr, text),
    warn: (text) => say(process.stderr, `! ${text}`),
  });
  const state = await untilServing({ home: config.FETCH_HOME, report, signal: left.signal, from: null });
  await requireFitting(state, config, options, tokenOf(config));
  say(process.stderr, `Attached to the instance that runs already (process ${state.supervisor.pid}).`);
  announce(config, options);
  if ((await untilEnd(config.FETCH_HOME, left.signal)) === 'ended') say(process.stderr, 'The instance has ended.');
}

function announce(config: Config, { mobile, qr }: ServeOptions): void {
  const token = tokenOf(config);
  for (const line of announcement(config, token)) say(process.stdout, line);
  if (mobile && qr)
    say(process.stdout, renderUnicodeCompact(mobileLinks(config, token).at(-1)!.url, { ecc: 'L', border: 2 }));
}

const tokenOf = (config: Config): string => ensureToken(config.FETCH_HOME, 'runtime-token', config.runtimeToken);
const say = (stream: NodeJS.WriteStream, text: string): void => void stream.write(`${text}\n`);
