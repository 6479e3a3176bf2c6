import type { Db } from '../../../../store/postgres/database.ts';
import { receivedBeside, type Waiting } from '../../../../store/whatsapp/inbox.ts';
import { decodeRow, type Incoming, type Me } from './decode.ts';

/** How long the parts of an album wait for a caption that calls us. A phone uploads them one after the other. */
const CALLED_WITHIN_MS = 20_000;

/** The album that a message announces or belongs to; null when it is alone. */
export const albumIdOf = ({ content, key, album }: Incoming): string | null =>
  content.kind === 'album' ? key.messageId : album;

/**
 * Whether another part of its album calls us, so that a message that does not is for us, too. `calls` judges a part by
 * itself. `until`: one that calls may still come. It looks into the table, so a restart changes nothing.
 */
export async function albumCalls(
  db: Db,
  row: Waiting,
  message: Incoming,
  me: Me,
  calls: (part: Incoming) => Promise<boolean>,
): Promise<boolean | { until: number }> {
  const album = albumIdOf(message);
  if (album === null) return false;
  const parts: Incoming[] = [];
  let newest = row.receivedAt.getTime();
  for (const other of await receivedBeside(db, row)) {
    const part = await decodeRow(other, me);
    if (albumIdOf(part) !== album) continue;
    parts.push(part);
    newest = Math.max(newest, other.receivedAt.getTime());
  }
  for (const part of parts) if (await calls(part)) return true;
  const announced = parts.find(({ content }) => content.kind === 'album')?.content;
  const pictures = parts.filter(({ content }) => content.kind === 'media').length;
  if (announced?.kind === 'album' && pictures >= announced.expects) return false;
  const until = Math.min(newest, Date.now()) + CALLED_WITHIN_MS;
  return until > Date.now() ? { until } : false;
}
