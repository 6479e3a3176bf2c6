import { sql } from 'kysely';
import { toModelMessages } from '../../src/domain/chat/context/context.ts';
import { openStore } from '../../src/store/postgres/database.ts';
import { loadHistory } from '../../src/store/turns/steps/transcript.ts';
import type { Part } from './bench.ts';
import { median, type Row, round } from './figures.ts';

const MESSAGES = 1_000;

/**
 * 1,000 messages of a chat into the body of a request: by a process that has never seen the chat, and by one that has.
 */
export const historyContext: Part = {
  name: 'history',
  title: `${MESSAGES} messages of history into a context (medians, ms)`,
  async run({ app, taker, pick }) {
    const thread = await app.thread();
    await taker.take(thread, [{ say: 'first' }]);
    const { db } = app.store;
    const { id: turn } = await db
      .selectFrom('turns')
      .select('id')
      .where('thread_id', '=', thread)
      .executeTakeFirstOrThrow();
    await sql`insert into transcript (id, thread_id, turn_id, role, content, call_ids, tokens)
      select ${thread} || '/bench/' || n, ${thread}, ${turn}, case when n % 2 = 1 then 'user' else 'assistant' end, repeat('Some words of a chat. ', 20), '[]', 110
      from generate_series(1, ${MESSAGES - 2}::int) n`.execute(db);
    const [cold, warm, body]: [number[], number[], number[]] = [[], [], []];
    let bytes = 0;
    for (let at = 0; at < pick(3, 10, 30); at++) {
      const store = await openStore(app.databaseUrl, { max: 1, migrate: false });
      await sql`select 1`.execute(store.db);
      cold.push(await took(() => loadHistory(store.db, thread)));
      warm.push(await took(() => loadHistory(store.db, thread)));
      const { summary, messages, calls, files } = await loadHistory(store.db, thread);
      if (messages.length !== MESSAGES) throw new Error(`${messages.length} messages were read`);
      body.push(
        await took(async () => {
          bytes = JSON.stringify(toModelMessages('You are Fetch.', summary, messages, calls, files)).length;
        }),
      );
      await store.close();
    }
    return [
      {
        'read by a new process': middle(cold),
        'read again': middle(warm),
        'made into a body': middle(body),
        'body KB': Math.round(bytes / 1024),
      } satisfies Row,
    ];
  },
};

const middle = (values: readonly number[]): number => round(median(values));

async function took(act: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await act();
  return performance.now() - began;
}
