import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { homeLabel } from '../../src/adapters/kennel/docker/containers.ts';
import { shareWorkspace } from '../../src/store/chats/shares.ts';
import { callsThen, script } from '../support/app.ts';
import { PUBLIC, type Site, serve } from '../support/browser-bench.ts';
import { NO_DOCKER, removeContainers, requireDocker } from '../support/docker.ts';
import { kennelReady, workspace } from '../support/kennel-app.ts';
import { startWhatsAppApp, type WhatsAppApp } from '../support/whatsapp-app.ts';
import { type Actor, onPhone, overHttp } from './actors.ts';
import { canary, day, KINDS } from './day.ts';

/**
 * The owner and a trusted person on WhatsApp, and two chats over HTTP, use everything at once: no word of one reaches
 * another.
 */

const DAY_TOKENS = 2_000_000;
/** A file stays in its project, and progress is shown only while its turn runs. */
const ALWAYS_SHOWN = KINDS.filter((kind) => kind !== 'file' && kind !== 'progress');

describe.skipIf(NO_DOCKER)('people who use everything at once', () => {
  let world: WhatsAppApp;
  let site: Site;
  let actors: Actor[];
  const prompts: string[] = [];
  beforeAll(async () => {
    await requireDocker('browser');
    const names = ['ann', 'bob', 'eve', 'kim'];
    site = await serve(
      Object.fromEntries(
        names.map((name) => [`/${name}`, `<title>${canary('page', name)}</title><h1>${canary('page', name)}</h1>`]),
      ),
    );
    world = await startWhatsAppApp((fixture) => {
      const [ann, bob] = [fixture.contact('Ann'), fixture.contact('Bob')];
      return {
        WHATSAPP_NUMBER: 'dedicated',
        OWNER_PHONE_NUMBER: ann.pn.split('@')[0]!,
        TRUSTED_PHONE_NUMBERS: bob.pn.split('@')[0]!,
        FETCH_AUTONOMY: 'autonomous',
        // a day of theirs is some minutes long
        WHATSAPP_RATE_LIMIT: '1000',
        FETCH_KENNEL_SLOTS: '4',
        FETCH_KENNEL_MEMORY_MB: '512',
        FETCH_BROWSER_SLOTS: '4',
        FETCH_MAX_DAY_TOKENS: String(DAY_TOKENS),
      };
    });
    const { app, fixture } = world;
    await kennelReady(app);
    app.model.hear((body) => void prompts.push(body));
    const [ann, bob] = fixture.contacts;
    actors = [
      onPhone(app, ann!, 'ann'),
      onPhone(app, bob!, 'bob'),
      await overHttp(app, 'eve'),
      await overHttp(app, 'kim'),
    ];
    for (const { project } of actors) await workspace(app, project);
    await app.store.db.transaction().execute((tx) => shareWorkspace(tx, 'of-bob', bob!.pn.split('@')[0]!));
  }, 900_000);
  afterAll(async () => {
    const home = world && homeLabel(world.app.home);
    await world?.close();
    await site?.close();
    if (home) await removeContainers(home);
  });

  /** The owner's chats have one memory, by design; somebody else has their own. */
  const mayHave = (reader: string, kind: string, owner: string): boolean =>
    reader === owner || (kind === 'memory' && reader !== 'bob' && owner !== 'bob');
  const others = (text: string, reader: string): string[] =>
    KINDS.flatMap((kind) =>
      actors.filter(({ name }) => !mayHave(reader, kind, name)).map(({ name }) => canary(kind, name)),
    ).filter((word) => text.includes(word));

  it('gives each their own answers, and shows nobody a word of another', { timeout: 1_200_000 }, async () => {
    await Promise.all(actors.map((actor) => day(actor, `http://${PUBLIC}:${site.port}/${actor.name}`)));
    await world.app.whenReady();
    for (const actor of actors) {
      const all = await actor.all();
      expect(ALWAYS_SHOWN.filter((kind) => !all.includes(canary(kind, actor.name)))).toEqual([]);
      expect([actor.name, others(all, actor.name)]).toEqual([actor.name, []]);
    }
    // what one undid is theirs alone
    for (const { name, project } of actors) {
      const folder = join(world.app.home, 'workspaces', project);
      expect(existsSync(join(folder, 'done.txt'))).toBe(false);
      expect(readFileSync(join(folder, 'own.txt'), 'utf8')).toBe(`${canary('file', name)}\n`);
    }
  });

  it('puts no two people into one prompt', () => {
    expect(prompts.length).toBeGreaterThan(4 * 20);
    const mixed = prompts.filter((body) => actors.every(({ name }) => others(body, name).length > 0));
    expect(mixed.map((body) => actors.map(({ name }) => others(body, name)))).toEqual([]);
  });

  it('refuses one the file, task, app, memory, schedule and output of another, by words and by tools', {
    timeout: 900_000,
  }, async () => {
    const { db } = world.app.store;
    const [ann, bob, eve, kim] = actors as [Actor, Actor, Actor, Actor];
    const chats = new Map(await Promise.all(actors.map(async (actor) => [actor.name, await actor.chatId()] as const)));
    const taskOf = async (name: string) =>
      (await db.selectFrom('tasks').select('id').where('chat_id', '=', chats.get(name)!).executeTakeFirstOrThrow()).id;
    const callOf = async (name: string) =>
      (
        await db
          .selectFrom('calls')
          .innerJoin('threads', 'threads.id', 'calls.thread_id')
          .select('calls.id')
          .where('threads.chat_id', '=', chats.get(name)!)
          .where('calls.name', '=', 'file_read')
          .executeTakeFirstOrThrow()
      ).id;
    const tries = async (
      actor: Actor,
      tool: string,
      args: Record<string, unknown>,
      like: RegExp,
      { asks = false } = {},
    ) => {
      await actor.says(callsThen([[tool, args]], `${tool} gives: $LAST`));
      if (asks) await actor.agrees();
      expect(await actor.gets(new RegExp(`${tool} gives`))).toMatch(like);
    };
    await tries(bob, 'file_read', { workspace: ann.project, path: 'own.txt' }, /no workspace|not shared|There is/);
    await tries(bob, 'read_output', { callId: await callOf('ann') }, /no/i);
    await tries(kim, 'read_output', { callId: await callOf('eve') }, /no/i);
    await tries(kim, 'task_status', { taskId: await taskOf('eve') }, /no task|There is/i);
    await tries(bob, 'recall', { query: canary('memory', 'ann') }, /Nothing of that is remembered/);
    await tries(eve, 'workflow_run', { workflow: canary('routine', 'kim').slice(0, -3) }, /There is no routine/, {
      asks: true,
    });
    await tries(eve, 'cron_delete', { cron: 'routine' }, /There is no schedule/, { asks: true });
    const memory = (
      await db.selectFrom('memories').select('id').where('body', 'like', '%ofann').executeTakeFirstOrThrow()
    ).id;
    await bob.says(`forget ${memory}`);
    await bob.gets(/There is no such memory/);
    await bob.says(`stop ${await taskOf('ann')}`);
    await bob.gets(/No such task/);
    await bob.says('/project of-ann');
    await bob.gets(/There is no project of-ann/);
    for (const actor of actors) expect([actor.name, others(await actor.all(), actor.name)]).toEqual([actor.name, []]);
  });

  it('counts what each has spent for them alone, and ends the day of one when it is used up', {
    timeout: 600_000,
  }, async () => {
    const { db } = world.app.store;
    const [ann, bob] = actors as [Actor, Actor];
    for (const actor of actors) {
      const chat = await actor.chatId();
      // two days, if midnight has passed
      const spent = await db.selectFrom('spending').select('tokens').where('chat_id', '=', chat).execute();
      const tokens = spent.reduce((sum, day) => sum + day.tokens, 0);
      const steps = await db
        .selectFrom('steps')
        .innerJoin('turns', 'turns.id', 'steps.turn_id')
        .innerJoin('threads', 'threads.id', 'turns.thread_id')
        .select(({ fn }) => fn.sum<string>('steps.input_tokens').as('sum'))
        .select(({ fn }) => fn.sum<string>('steps.output_tokens').as('more'))
        .where('threads.chat_id', '=', chat)
        .executeTakeFirstOrThrow();
      expect(tokens).toBe(Number(steps.sum) + Number(steps.more));
    }
    const chat_id = await bob.chatId();
    // tomorrow, too: it may begin before the next message
    for (const days of [0, 1])
      await db
        .insertInto('spending')
        .values({
          chat_id,
          day: sql<string>`(now() at time zone 'utc')::date + ${days}::int`,
          tokens: DAY_TOKENS,
          micro_usd: 0,
          unpriced: 0,
        })
        .onConflict((c) => c.columns(['chat_id', 'day']).doUpdateSet({ tokens: DAY_TOKENS }))
        .execute();
    await bob.says(script([{ say: 'Still here.' }]));
    await bob.gets(/tokens today\. Continue for/);
    await ann.says(script([{ say: 'I go on.' }]));
    await ann.gets(/I go on\./);
  });
});
