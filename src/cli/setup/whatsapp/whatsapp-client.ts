import { setTimeout as pause } from 'node:timers/promises';
import type { Config } from '../../../config.ts';
import { UserError } from '../../../contracts/user-error.ts';
import type { PairRequest, WhatsAppReport, WhatsAppView } from '../../../contracts/whatsapp.ts';
import { ensureToken } from '../../instance/home/home.ts';
import { readStatus } from '../../instance/status-report.ts';

/** WhatsApp commands of a terminal, over the status API of a running instance. */
export interface WhatsAppClient {
  view(signal?: AbortSignal): Promise<WhatsAppReport>;
  start(request?: PairRequest): Promise<void>;
  stop(): Promise<void>;
  logout(): Promise<void>;
}

const LIMIT_MS = 10_000;

export async function whatsappClientOf(config: Config): Promise<WhatsAppClient> {
  const { urls } = await readStatus(config);
  return whatsappClient({
    statusUrl: urls.status,
    adminToken: ensureToken(config.FETCH_HOME, 'admin-token', config.ADMIN_TOKEN),
  });
}

export function whatsappClient({ statusUrl, adminToken }: { statusUrl: string; adminToken: string }): WhatsAppClient {
  const ask = async (method: 'GET' | 'POST', path: string, body?: unknown, signal?: AbortSignal): Promise<unknown> => {
    const limit = AbortSignal.timeout(LIMIT_MS);
    let response: Response;
    try {
      response = await fetch(`${statusUrl}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${adminToken}`,
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        signal: signal ? AbortSignal.any([signal, limit]) : limit,
      });
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new UserError(`Nothing answers at ${statusUrl}. Start it first, in another terminal: fetch start`);
    }
    const answer = (await response.json().catch(() => ({}))) as { message?: string; error?: string };
    if (response.status === 401 || response.status === 403)
      throw new UserError(
        'The running instance has another ADMIN_TOKEN than this terminal. Use the same home (--home) and environment.',
      );
    if (!response.ok) throw new UserError(answer.message ?? answer.error ?? `${path} answered ${response.status}`);
    return answer;
  };
  return {
    view: (signal) => ask('GET', '/api/whatsapp', undefined, signal) as Promise<WhatsAppReport>,
    start: async (request = {}) => void (await ask('POST', '/api/whatsapp/start', request)),
    stop: async () => void (await ask('POST', '/api/whatsapp/stop')),
    logout: async () => void (await ask('POST', '/api/logout')),
  };
}

const LOOK_MS = 500;

/**
 * The account as it changes, until `signal` is aborted. A moment without an answer (a role is restarted) is passed
 * over.
 */
export async function* follow(client: WhatsAppClient, signal: AbortSignal): AsyncGenerator<WhatsAppView, void> {
  let last = '';
  for (let failures = 0; !signal.aborted; ) {
    try {
      const view = await client.view(signal);
      failures = 0;
      const now = JSON.stringify(view);
      if (now !== last) yield view;
      last = now;
    } catch (error) {
      if (signal.aborted) return;
      failures += 1;
      if (failures > 20) throw error;
    }
    await pause(LOOK_MS, undefined, { signal }).catch(() => {});
  }
}
