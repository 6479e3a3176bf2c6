import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../../config.ts';
import { keepSecret } from './home.ts';

/** Bearer token of an HTTP API: the configured one, else `fetch_` and 64 hex digits kept in `<home>/<name>` (0600). */
export const ensureToken = (
  home: string,
  name: 'runtime-token' | 'admin-token' | 'ui-token',
  configured?: string,
): string => configured ?? keepSecret(home, name, () => `fetch_${randomBytes(32).toString('hex')}`);

/**
 * The admin token, if this call is the one that makes it: it is shown to a person once. Null when it is configured or
 * was made before.
 */
export const firstAdminToken = ({
  FETCH_HOME: home,
  ADMIN_TOKEN,
}: Pick<Config, 'FETCH_HOME' | 'ADMIN_TOKEN'>): string | null =>
  ADMIN_TOKEN !== undefined || existsSync(join(home, 'admin-token')) ? null : ensureToken(home, 'admin-token');

/**
 * 32 random bytes as hex; `chat-key` keys the hashes that stand for addresses in workflow ids, `encryption-key` the
 * stored WhatsApp credentials.
 */
export const ensureSecret = (home: string, name: 'chat-key' | 'encryption-key'): string =>
  keepSecret(home, name, () => randomBytes(32).toString('hex'));
