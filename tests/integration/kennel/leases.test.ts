import { cpSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HostTaken, keepHost, takeHost } from '../../../src/activities/lease.ts';
import { routeToKennel } from '../../../src/activities/turn/step/check-calls.ts';
import { findWorkspaces, identified } from '../../../src/adapters/workspaces.ts';
import { loadConfig } from '../../../src/config.ts';
import { holdHost, moveTask, reportHost } from '../../../src/store/kennel/hosts.ts';
import { claimWorkspace, insertTask } from '../../../src/store/kennel/tasks/tasks.ts';
import { recordWorkspaces } from '../../../src/store/kennel/workspaces/workspaces.ts';
import { openStore } from '../../../src/store/postgres/database.ts';
import type { CheckedCall } from '../../../src/store/turns/steps/new-calls.ts';
import { startTestDatabase, type TestDatabase } from '../../support/database.ts';
import { startPartition } from '../../support/partition.ts';
import { newThread } from '../../support/thread.ts';
import { until } from '../../support/until.ts';

const log = pino({ level: 'silent' });
const nobodyDead = async () => false;
const TTL = 3_000;

let database: TestDatabase;
let chatId: string;
let count = 0;

beforeAll(async () => {
  database = await startTestDatabase();
  ({ chatId } = await newThread(database.store.db));
});
afterAll(() => database?.close());

async function task(host: string, workspace: string): Promise<string> {
  count += 1;
  const id = `tsk_l${count}`;
  const at = {
    chat_id: chatId,
    call_id: `call_${id}`,
    workflow_id: `task/${id}`,
    goal: 'x',
    agent: 'practice',
    harness: 'practice' as const,
  };
  await insertTask(database.store.db, { id, ...at, host, workspace, worktree: false, timeout_ms: 1000 });
  return id;
}

/** A host that is there, with one workspace. */
async function host(name: string, workspace: string, identity: string): Promise<void> {
  await reportHost(database.store.db, { host: name, slots: 1, ready: true, problem: null, harnesses: [] });
  await recordWorkspaces(database.store.db, name, [{ name: workspace, path: `/${workspace}`, identity }]);
}

const away = (name: string) =>
  database.store.db
    .updateTable('kennel_hosts')
    .set({ seen_at: new Date(Date.now() - 3_600_000) })
    .where('host', '=', name)
    .execute();

describe('a call for a host that is only just starting', () => {
  it('waits for it', async () => {
    const { db } = database.store;
    await holdHost(db, { host: 'late', identity: 'home-l', holder: 'l', ttlMs: TTL });
    await db
      .updateTable('kennel_hosts')
      .set({ seen_at: new Date(Date.now() - 60_000) })
      .execute();
    const verdict = {
      name: 'workspace_create',
      danger: 'MODERATE' as const,
      effect: 'idempotent' as const,
      summary: '',
      timeoutMs: 1_000,
      refused: false,
    };
    const routed = routeToKennel(db, loadConfig({}), chatId, [{ verdict } as CheckedCall]);
    let answered = false;
    void routed.then(() => {
      answered = true;
    });
    // a look at the store is far quicker than the first wait
    await db.selectFrom('kennel_hosts').select('host').execute();
    expect(answered).toBe(false);
    await reportHost(db, { host: 'late', slots: 1, ready: true, problem: null, harnesses: [] });
    expect((await routed)[0]).toMatchObject({ verdict: { refused: false, queue: 'kennel-late' } });
  });
});

describe('a task whose host is gone', () => {
  it('goes on where its very folder is seen, and never in a clone of the same name', async () => {
    const { db } = database.store;
    await host('one', 'shop', 'folder-1');
    await host('clone', 'shop', 'folder-2');
    const id = await task('one', 'shop');
    await away('one');
    expect(await moveTask(db, id, 'one', 600)).toBeNull();
    // the name alone means something else by now
    await host('renamed', 'shop', 'folder-3');
    await recordWorkspaces(db, 'one', [{ name: 'shop', path: '/shop', identity: 'folder-3' }]);
    await away('one');
    expect(await moveTask(db, id, 'one', 600)).toBeNull();
    await host('two', 'shop', 'folder-1');
    expect(await moveTask(db, id, 'one', 600)).toBe('two');
    expect(await moveTask(db, id, 'one', 600)).toBe('two');
  });

  it('does not work in a folder in which a task of another host works', async () => {
    const { db } = database.store;
    await host('left', 'common', 'folder-c');
    await host('right', 'common', 'folder-c');
    await host('apart', 'common', 'folder-d');
    const [first, second, third] = [
      await task('left', 'common'),
      await task('right', 'common'),
      await task('apart', 'common'),
    ];
    expect(await claimWorkspace(db, first)).toBe(true);
    expect(await claimWorkspace(db, second)).toBe(false);
    expect(await claimWorkspace(db, third)).toBe(true);
  });
});

describe('the name of a host', () => {
  it('is one process at a time: another is refused while it is renewed, and has it at once when it is given back or its holder is dead', async () => {
    const { db } = database.store;
    const claim = (holder: string, identity = 'home-1') => ({ host: 'named', identity, holder, ttlMs: TTL });
    await takeHost(db, claim('a'), nobodyDead);
    const on = { lapsed: () => {}, regained: () => {}, taken: () => {} };
    const lease = keepHost({ db, claim: claim('a'), log, on });
    await expect(takeHost(db, claim('b', 'home-2'), nobodyDead)).rejects.toThrow(HostTaken);
    expect(lease.held()).toBe(true);
    await lease.release();
    expect(await holdHost(db, claim('b', 'home-2'))).toBe(true);
    await takeHost(db, claim('c', 'home-2'), async (holder) => holder === 'b');
    expect(await holdHost(db, claim('b', 'home-2'))).toBe(false);
  });

  it('stays with its home while that has tasks, also when nobody renews it', async () => {
    const { db } = database.store;
    const short = { host: 'owner', holder: 'x', ttlMs: 1 };
    await takeHost(db, { ...short, identity: 'home-1' }, nobodyDead);
    const id = await task('owner', 'w');
    await expect(takeHost(db, { ...short, holder: 'y', identity: 'home-2' }, nobodyDead)).rejects.toThrow(
      /belongs to another machine, which has tasks/,
    );
    expect(await holdHost(db, { ...short, holder: 'z', identity: 'home-1' })).toBe(true);
    await db.updateTable('tasks').set({ ended_at: new Date() }).where('id', '=', id).execute();
    await until('its lease has ended', () => holdHost(db, { ...short, holder: 'y', identity: 'home-2' }));
  });

  it('counts as lost before the database gives it away, and as held again when it was renewed', async () => {
    const { db } = database.store;
    const network = await startPartition({ host: '127.0.0.1', port: Number(new URL(database.url).port) });
    const url = new URL(database.url);
    url.port = String(network.port);
    const own = await openStore(url.href, { max: 2, application: 'fetch-test', migrate: false });
    const claim = { host: 'shaky', identity: 'home-1', holder: 'a', ttlMs: TTL };
    await takeHost(own.db, claim, nobodyDead);
    const seen: string[] = [];
    let givenAway: boolean | undefined;
    const on = {
      lapsed: async () => {
        givenAway = await holdHost(db, { ...claim, holder: 'b' });
        seen.push('lapsed');
        network.heal();
      },
      regained: () => void seen.push('regained'),
      taken: () => void seen.push('taken'),
    };
    const lease = keepHost({ db: own.db, claim, log, on });
    network.cut();
    await until('it is lost and held again', async () => seen.length === 2);
    expect([seen, givenAway, lease.held()]).toEqual([['lapsed', 'regained'], false, true]);
    expect(await holdHost(db, { ...claim, holder: 'b' }, 'a')).toBe(true);
    await until('it is told', async () => seen.at(-1) === 'taken');
    expect(lease.held()).toBe(false);
    await own.close();
    await network.close();
  });
});

describe('the identity of a workspace', () => {
  it('stays with the folder, whatever it is called, and a copy has its own', async () => {
    const root = mkdtempSync(join(tmpdir(), 'fetch-identities-'));
    try {
      const idsIn = async (folder: string) =>
        Object.fromEntries(
          (await identified((await findWorkspaces(folder)).workspaces)).map(({ name, identity }) => [name, identity]),
        );
      mkdirSync(join(root, 'a/shop/.git'), { recursive: true });
      const before = (await idsIn(join(root, 'a'))).shop!;
      expect(before).toMatch(/^[0-9a-f-]{36}$/);
      renameSync(join(root, 'a/shop'), join(root, 'a/store'));
      expect(await idsIn(join(root, 'a'))).toEqual({ store: before });
      // all of it, with what we keep beside the workspaces
      cpSync(join(root, 'a'), join(root, 'b'), { recursive: true, preserveTimestamps: true });
      expect((await idsIn(join(root, 'b'))).store).not.toBe(before);
      rmSync(join(root, 'a/store'), { recursive: true });
      mkdirSync(join(root, 'a/store'));
      expect((await idsIn(join(root, 'a'))).store).not.toBe(before);
    } finally {
      rmSync(root, { recursive: true, force: true });
    }
  });
});
