import { randomBytes } from 'node:crypto';
import { keepSecret } from './home.ts';

/** Bearer token of an HTTP API: the configured one, else `fetch_` and 64 hex digits kept in `<home>/<name>` (0600). */
export const ensureToken = (home: string, name: 'runtime-token' | 'admin-token' | 'ui-token', configured?: string): string =>
  configured ?? keepSecret(home, name, () => `fetch_${randomBytes(32).toString('hex')}`);

/** 32 random bytes as hex; `chat-key` keys the hashes that stand for addresses in workflow ids, `encryption-key` the stored WhatsApp credentials. */
export const ensureSecret = (home: string, name: 'chat-key' | 'encryption-key'): string => keepSecret(home, name, () => randomBytes(32).toString('hex'));
