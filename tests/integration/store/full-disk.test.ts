import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { script, startTestApp, type TestApp } from '../../support/app.ts';
import { type Disk, IS_ROOT, type OtherUser, otherUser } from '../../support/other-user.ts';
import { until } from '../../support/until.ts';

const ROOM_MB = 512;
type Answer = Awaited<ReturnType<TestApp['request']>>;

describe.skipIf(!IS_ROOT)('a full disk', () => {
  let user: OtherUser;
  let disk: Disk;
  let app: TestApp;
  beforeAll(async () => {
    user = await otherUser();
    disk = user.disk('disk', ROOM_MB);
    // not as root, whose database lies outside of the home: here everything shares the disk
    app = await startTestApp(user.env, { ...user.place, home: join(disk.path, 'state') });
  });
  afterAll(async () => {
    disk?.resize(ROOM_MB);
    await app?.close();
    user?.close();
  });

  const post = (path: string, body: unknown, key?: string): Promise<Answer> =>
    app.request('POST', path, body, key ? { 'idempotency-key': key } : {});
  const startTurn = (
    thread: string,
    key: string,
    steps: unknown[] = [{ call: [['workflow_list', {}]] }, { say: key }],
  ): Promise<Answer> => post(`/v1/threads/${thread}/turns`, { prompt: script(steps) }, key);
  const LONG = [{ say: 'long '.repeat(60), pace: 50 }, { say: 'never' }];
  const answers = async (thread: string) =>
    (await app.detail(thread)).items.filter((item) => item.kind === 'agent_message' && item.status === 'completed');

  it('defect 31: refuses what it cannot store and says so, loses nothing that it took, and goes on by itself once there is room', async () => {
    const threads = await Promise.all(Array.from({ length: 8 }, () => app.thread()));
    const running = threads[0]!;
    await app.turn(running, LONG, 'running');
    await until('it streams', async () => (await app.events(running)).some((event) => event.event === 'item.delta'));
    disk.resize(0);

    const taken = new Map<string, string>([[running, 'running']]);
    const refused: Array<{ thread: string; key: string; answer: Answer }> = [];
    // what is left in half-filled pages is still used up
    await until('a message is refused', async () => {
      for (const thread of threads.slice(1)) {
        if (taken.has(thread)) continue;
        const key = `turn-${thread}-${refused.length}`;
        const answer = await startTurn(thread, key);
        if (answer.status === 201) taken.set(thread, key);
        else refused.push({ thread, key, answer });
      }
      if (refused.length === 0) threads.push(await app.thread());
      return refused.length > 0;
    });
    for (const { answer } of refused) {
      expect(answer).toMatchObject({
        status: 503,
        body: { error: { message: expect.stringContaining('The disk of the database is full') } },
      });
    }
    const status = execFileSync(user.place.node, [user.place.entry, 'status'], {
      ...user.place,
      env: { ...user.env, FETCH_HOME: app.home },
    }).toString();
    expect(status).toMatch(/The disk of .* is (nearly )?full/);

    disk.resize(ROOM_MB);
    await app.whenReady();
    for (const [thread, key] of taken) {
      const turn = (await startTurn(thread, key, thread === running ? LONG : undefined)).body as {
        turn: { id: string };
      };
      expect((await app.ended(thread, turn.turn.id)).status).toBe('completed');
      expect(await answers(thread)).toHaveLength(1);
    }
    // a refused one left nothing behind: the same key is taken now, as the first of its thread
    const { thread, key } = refused[0]!;
    const late = await startTurn(thread, key);
    expect(late.status).toBe(201);
    expect((await app.ended(thread, (late.body as { turn: { id: string } }).turn.id)).status).toBe('completed');
    expect((await app.detail(thread)).turns).toHaveLength(1);
    expect((await answers(thread)).map((item) => item.detail)).toEqual([key]);
  });

  it('survives that the database itself stops for want of room: its role says why, and it starts again once there is some', async () => {
    const thread = await app.thread();
    const { pid } = app.state().roles.find((role) => role.name === 'postgres')!;
    disk.resize(0);
    // a new segment of the write-ahead log is the write that PostgreSQL cannot do without
    await until('the database has stopped', async () => {
      await sql`select pg_switch_wal()`.execute(app.store.db).catch(() => {});
      await app.store.db
        .updateTable('threads')
        .set({ title: 'touched' })
        .where('id', '=', thread)
        .execute()
        .catch(() => {});
      return !existsSync(`/proc/${pid}`);
    });
    expect((await startTurn(thread, 'away')).status).toBe(503);
    const why = () => app.state()?.roles.find((role) => role.name === 'postgres')?.lastError ?? '';
    disk.resize(ROOM_MB);
    await app.whenReady();
    expect(why()).toMatch(/No space left on device/);
    const turn = (await until('the message is taken', async () => {
      const answer = await startTurn(thread, 'away');
      return answer.status === 201 ? answer.body : null;
    })) as { turn: { id: string } };
    expect((await app.ended(thread, turn.turn.id)).status).toBe('completed');
    expect((await answers(thread)).map((item) => item.detail)).toEqual(['away']);
  });
});
