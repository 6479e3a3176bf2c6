import { setTimeout as pause } from 'node:timers/promises';
import { MOBILE_IS_OFF } from '../../../api/errors/errors.ts';
import { reasonOf } from '../../../client/api-request.ts';
import type { Config } from '../../../config.ts';
import { UserError } from '../../../contracts/user-error.ts';
import { liveRunState, type RunState } from '../../instance/home/state-file.ts';
import { type ServeOptions, startOptions } from './settings.ts';

const PATIENCE_MS = 10_000;
const LOOK_MS = 500;

interface Info {
  bind_host: string;
  port: number;
  auth_required: boolean;
}

/** Sees that what runs is what was asked for: an instance keeps the settings of its start. @throws UserError */
export async function requireFitting(
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
export async function untilEnd(home: string, signal: AbortSignal): Promise<'ended' | 'left'> {
  while (!signal.aborted) {
    if (!(await liveRunState(home))) return 'ended';
    await pause(LOOK_MS, undefined, { signal }).catch(() => {});
  }
  return 'left';
}
