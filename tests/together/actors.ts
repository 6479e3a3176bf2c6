import { setTimeout as pause } from 'node:timers/promises';
import { Person } from '../stories/person.ts';
import type { TestApp } from '../support/app.ts';
import { until } from '../support/until.ts';
import type { Contact } from '../support/whatsapp/contact.ts';
import { countsAsShown } from '../support/whatsapp-app.ts';

/** Far above any wait, so that only what never comes reaches it. */
const PATIENCE_MS = 240_000;

/** Somebody with a chat of their own, on WhatsApp or over HTTP, and the project that they work on. */
export interface Actor {
  name: string;
  project: string;
  says(text: string): Promise<unknown>;
  /** the next text that was not asked for yet, once there is one like this */
  gets(like: RegExp): Promise<string>;
  /** says yes to the next approval, once there is one */
  agrees(): Promise<void>;
  /** everything that reached them, in any form, as one text */
  all(): Promise<string>;
  chatId(): Promise<string>;
}

export function onPhone(app: TestApp, contact: Contact, name: string): Actor {
  const person = new Person(contact);
  const gets = async (like: RegExp): Promise<string> => {
    const message = await person.sees(like, PATIENCE_MS);
    await countsAsShown(app, message);
    return message.shown.text;
  };
  return {
    name,
    project: `of-${name}`,
    says: (text) => person.says(text),
    gets,
    agrees: async () => {
      await gets(/Answer yes, no/);
      await person.says('yes');
    },
    all: async () => JSON.stringify(contact.received.filter(({ by }) => by === 'client').map(({ shown }) => shown)),
    chatId: async () => {
      const rows = await app.store.db
        .selectFrom('chats')
        .select(['id', 'address'])
        .where('channel', '=', 'whatsapp')
        .execute();
      const own = rows.find(({ address }) => address === contact.lid || address === contact.pn);
      if (!own) throw new Error(`${name} has no chat`);
      return own.id;
    },
  };
}

export async function overHttp(app: TestApp, name: string): Promise<Actor> {
  const thread = await app.thread({ allow_shell: true });
  const told = new Set<string>();
  return {
    name,
    project: `of-${name}`,
    says: (text) => app.say(thread, text),
    gets: (like) =>
      until(
        `${name} gets ${like}`,
        async () => {
          // a thread of a whole day is long to read
          await pause(200);
          const { items } = await app.detail(thread);
          const found = items.find(
            (item) => item.kind === 'agent_message' && !told.has(item.id) && like.test(item.detail ?? ''),
          );
          if (found) told.add(found.id);
          return found?.detail;
        },
        PATIENCE_MS,
      ).catch(async (error: Error) => {
        const { items } = await app.detail(thread);
        throw new Error(
          `${error.message}; there is: ${JSON.stringify(items.map(({ kind, detail }) => [kind, detail]))}`,
        );
      }),
    agrees: async () => {
      await until(`${name} is asked`, async () => (await app.detail(thread)).pending_approvals[0], PATIENCE_MS);
      await app.say(thread, 'yes');
    },
    // items, questions and every event, as screens get them
    all: async () => JSON.stringify([await app.detail(thread), await app.events(thread)]),
    chatId: async () =>
      (await app.store.db.selectFrom('threads').select('chat_id').where('id', '=', thread).executeTakeFirstOrThrow())
        .chat_id,
  };
}
