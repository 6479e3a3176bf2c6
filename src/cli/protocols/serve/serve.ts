import { setTimeout as pause } from 'node:timers/promises';
import { renderUnicodeCompact } from 'uqr';
import { MOBILE_IS_OFF } from '../../../api/errors/errors.ts';
import { reasonOf } from '../../../client/api-client.ts';
import { type Config, loadConfig, printWarnings } from '../../../config.ts';
import { UserError } from '../../../contracts/user-error.ts';
import { inForeground } from '../../instance/foreground.ts';
import { ensureHome, ensureToken } from '../../instance/home/home.ts';
import { claimHome, HeldError } from '../../instance/home/start-lock.ts';
import { liveRunState, type RunState } from '../../instance/home/state-file.ts';
import { logReporter } from '../../instance/progress.ts';
import { untilServing } from '../../setup/background/follow-start.ts';
import { announcement, mobileLinks, NETWORK_WARNING, weakTokenWarning } from './announce.ts';
import { hostIsWild, requireMode, type ServeOptions, settingsOf, startOptions } from './settings.ts';

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
  printWarnings(config, true);
  if (options.acp) return await (await import('../acp/acp.ts')).runAcp({ config, reload, flags: settings });
  if (options.mcp) return await (await import('../mcp-server.ts')).runMcp({ config, reload, flags: settings });
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

const PATIENCE_MS = 10_000;
const LOOK_MS = 500;

interface Info {
  bind_host: string;
  port: number;
  auth_required: boolean;
}

/** Sees that what runs is what was asked for: an instance keeps the settings of its start. @throws UserError */
async function requireFitting(
  { urls, supervisor }: RunState,
  config: Config,
  options: ServeOptions,
  token: string,
): Promise<void> {
  const misfits = await misfitsOf(urls.runtime, config, options, token);
  if (misfits.length > 0)
    throw new UserError(
      `Fetch already runs for ${config.FETCH_HOME} (process ${supervisor.pid}), and ${misfits.join('; ')}. End it first: fetch stop. Or ask for what runs.`,
    );
}

async function misfitsOf(base: string, config: Config, options: ServeOptions, token: string): Promise<string[]> {
  const info = JSON.parse((await ask(base, '/v1/runtime/info', '')).body) as Info;
  const late = startOptions(options);
  if (late.length > 0) return [`${late.join(' and ')} ${late.length === 1 ? 'takes' : 'take'} effect at a start`];
  const misfits: string[] = [];
  if (info.bind_host !== config.runtimeHost || info.port !== config.FETCH_RUNTIME_PORT)
    misfits.push(
      `its runtime API listens on ${info.bind_host}:${info.port}, not on ${config.runtimeHost}:${config.FETCH_RUNTIME_PORT}`,
    );
  if (options.insecure && info.auth_required) misfits.push('it asks for a token');
  if ((await ask(base, '/v1/skills', token)).status === 401)
    misfits.push('it has another token: pass its own with --auth-token');
  else if (options.mobile && (await ask(base, '/mobile', token)).body === MOBILE_IS_OFF)
    misfits.push('it was started without --mobile');
  return misfits;
}

async function ask(base: string, path: string, token: string): Promise<{ status: number; body: string }> {
  try {
    const answer = await fetch(`${base}${path}`, {
      headers: token ? { Authorization: `Bearer ${token}` } : {},
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    return { status: answer.status, body: await answer.text() };
  } catch (error) {
    throw new UserError(
      `The runtime API at ${base} does not answer: ${reasonOf(error)}. Look at it: fetch status, fetch logs api`,
    );
  }
}

/** Returns when the instance has ended, or at a signal. The instance goes on then: another program has started it. */
async function untilEnd(home: string, signal: AbortSignal): Promise<'ended' | 'left'> {
  while (!signal.aborted) {
    if (!(await liveRunState(home))) return 'ended';
    await pause(LOOK_MS, undefined, { signal }).catch(() => {});
  }
  return 'left';
}
