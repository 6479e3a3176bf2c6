import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import type { Detail } from '../../support/app.ts';
import { type SharedApp, useSharedApp } from '../../support/shared-app.ts';
import { until } from '../../support/until.ts';

const TURNS = 5_000;

let app: SharedApp;
useSharedApp((shared) => {
  app = shared;
});

describe('a thread of thousands of turns', () => {
  it('is given to a terminal by its end, with the turn that runs and the question that waits, in a few kilobytes', async () => {
    const thread = await app.thread();
    const seed = sql`insert into turns (id, thread_id, status, input_summary, created_at, started_at, ended_at)
      select 'turn_seed' || i, ${thread}, 'completed', 'old', now() - interval '1 day' + i * interval '1 second', now(), now()
      from generate_series(1, ${TURNS}::int) i`;
    await seed.execute(app.store.db);
    await sql`insert into items (id, turn_id, thread_id, kind, status, summary, detail)
      select 'item_seed' || i || '_' || k, 'turn_seed' || i, ${thread}, case k when 1 then 'user_message' else 'agent_message' end, 'completed', 'old', repeat('words ', 60)
      from generate_series(1, ${TURNS}::int) i, generate_series(1, 2) k`.execute(app.store.db);
    const turn = await app.turn(thread, [{ call: [['ask_user', { question: 'Go on?' }]] }, { say: 'yes' }]);
    const of = async (query: string): Promise<Detail> =>
      (await app.request('GET', `/v1/threads/${thread}${query}`)).body as Detail;
    const end = await until('the question is open', async () => {
      const detail = await of('?last_turns=10');
      return detail.pending_user_inputs.length > 0 ? detail : null;
    });
    expect(end.turns.map((each) => each.id)).toEqual([
      ...Array.from({ length: 9 }, (_, i) => `turn_seed${TURNS - 8 + i}`),
      turn,
    ]);
    expect(end.items.filter((item) => item.id.startsWith('item_seed'))).toHaveLength(18);
    expect(end.turns[0]!.item_ids).toEqual([`item_seed${TURNS - 8}_1`, `item_seed${TURNS - 8}_2`]);
    expect(JSON.stringify(end).length).toBeLessThan(100_000);
    expect(end.latest_seq).toBe((await of('')).latest_seq);
    expect((await of('')).turns).toHaveLength(TURNS + 1);
    expect((await of('?last_turns=0')).turns).toEqual([]);
    // backwards, page by page
    const before = await of(`?last_turns=2&before=${end.turns[0]!.id}`);
    expect(before.turns.map((each) => each.id)).toEqual([`turn_seed${TURNS - 10}`, `turn_seed${TURNS - 9}`]);
    expect(before).toMatchObject({ more_before: `turn_seed${TURNS - 10}` });
    expect(await of('?last_turns=2&before=turn_seed2')).not.toHaveProperty('more_before');
    expect((await app.request('GET', `/v1/threads/${thread}?last_turns=some`)).status).toBe(400);
    expect((await app.request('GET', `/v1/threads/${thread}?before=../x`)).status).toBe(400);
  });

  it('is given in answers that are bounded, the newest first, and all of it in pages', async () => {
    const thread = await app.thread();
    await sql`insert into turns (id, thread_id, status, input_summary, created_at, started_at, ended_at)
      select 'turn_big' || i, ${thread}, 'completed', 'old', now() - interval '1 day' + i * interval '1 second', now(), now()
      from generate_series(1, 6) i`.execute(app.store.db);
    // 5 MB each but for the second, which is 30 MB alone
    await sql`insert into items (id, turn_id, thread_id, kind, status, summary, detail)
      select 'item_big' || i || '_' || k, 'turn_big' || i, ${thread}, 'tool_call', 'completed', 'old', repeat('x', 10000)
      from generate_series(1, 6) i, generate_series(1, 3000) k where i = 2 or k <= 500`.execute(app.store.db);
    const seen: string[] = [];
    let query = '';
    for (let page = 0; page < 10; page += 1) {
      const text = await (
        await fetch(`${app.baseUrl}/v1/threads/${thread}${query}`, { headers: { authorization: 'Bearer test-token' } })
      ).text();
      expect(text.length).toBeLessThan(20 * 1024 * 1024);
      const detail = JSON.parse(text) as Detail & { more_before?: string };
      seen.unshift(...detail.turns.map((turn) => turn.id));
      expect(detail.items.map((item) => item.turn_id)).toEqual(
        detail.turns.flatMap((turn) => turn.item_ids.map(() => turn.id)),
      );
      if (!detail.more_before) break;
      query = `?before=${detail.more_before}`;
    }
    expect(seen).toEqual([1, 2, 3, 4, 5, 6].map((i) => `turn_big${i}`));
  });
});
