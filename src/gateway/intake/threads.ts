import type { Config } from '../../config.ts';
import type { Channel } from '../../contracts/ids.ts';
import type { ThreadRecord } from '../../contracts/records.ts';
import { chatKey } from '../../store/chats/ids.ts';
import { createThread, threadOfChat } from '../../store/chats/threads/threads.ts';
import type { Db } from '../../store/postgres/database.ts';

/** The thread of a chat on a channel, created on first use. `secret`: key of the hash in its ids. */
export async function channelThread(
  deps: { db: Db; config: Config; secret: string },
  channel: Channel,
  address: string,
): Promise<ThreadRecord> {
  const { db, config, secret } = deps;
  const known = await threadOfChat(db, channel, address);
  if (known) return known;
  await createThread(db, {
    channel,
    address,
    // a chat outlives every choice of a model, so each turn uses the configured one
    model: 'auto',
    workspace: config.FETCH_WORKSPACE ?? process.cwd(),
    mode: 'agent',
    // commands ask the person each time
    allow_shell: true,
    trust_mode: false,
    auto_approve: false,
    archived: false,
    autonomy: config.FETCH_AUTONOMY,
    chatKey: (address) => chatKey(secret, channel, address),
  });
  // if two requests came at once, both get the same thread
  return (await threadOfChat(db, channel, address))!;
}
