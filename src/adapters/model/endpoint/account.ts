import { createHash } from 'node:crypto';

/**
 * Whom the limits of an endpoint belong to: its origin and its key. Chats and coding tasks with the same account share
 * what they know of a limit. The few digits of the hash tell two keys apart and say nothing else of them.
 */
export function accountOf(baseUrl: string, key: string | undefined): string {
  const { origin } = new URL(baseUrl);
  return key ? `${origin}#${createHash('sha256').update(key).digest('hex').slice(0, 8)}` : origin;
}
