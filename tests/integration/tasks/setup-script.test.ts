import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SetupScripts } from '../../../src/adapters/kennel/environment/setup-scripts.ts';
import type { TestApp } from '../../support/app.ts';
import { lastPrinted } from '../../support/environments/run.ts';
import {
  containersOf,
  findTask,
  inState,
  linesOf,
  startTask,
  startTaskApp,
  workspace,
} from '../../support/kennel-app.ts';
import { allowForGood } from '../../support/thread.ts';
import { until } from '../../support/until.ts';

let app: TestApp;
beforeAll(async () => {
  // long enough for an answer of a test, short enough to wait for its end
  app = await startTaskApp({ FETCH_TASK_HOLD_MINUTES: String(15 / 60) });
}, 600_000);
afterAll(() => app?.close());

const BUILD_MS = 15 * 60_000;
/** A script that installs a program which prints a word that no earlier run of this test has used. */
const installs = (name: string, word: string) =>
  `echo "echo ${word}-$(whoami)" > /usr/local/bin/${name}\\nchmod 755 /usr/local/bin/${name}`;
const word = (name: string) => `${name}-${Date.now()}`;
const questionsOf = (id: string) =>
  app.store.db.selectFrom('questions').selectAll().where('task_id', '=', id).orderBy('asked_at').execute();
const asked = async (id: string, count = 1) => {
  await until(
    `it has asked ${count} times`,
    async () => {
      const all = await questionsOf(id);
      return all.length === count && all.at(-1)!.state === 'open';
    },
    BUILD_MS,
  );
  return (await questionsOf(id)).at(-1)!;
};
/** What `fetch-setup` said, each time. */
const said = async (id: string): Promise<string[]> =>
  (await linesOf(app, id)).flatMap((line) =>
    line.type === 'tool' && line.title === 'fetch-setup' && line.status !== 'in_progress' ? [line.detail ?? ''] : [],
  );

describe('a setup script that an agent proposes', () => {
  it(
    'is shown whole, is in the image after a yes, and then in every task and command of the workspace without a question',
    async () => {
      await workspace(app, 'proposes');
      const [first, newer] = [word('first'), word('newer')];
      const thread = await app.thread({ allow_shell: true });
      const { id } = await startTask(app, `setup ${installs('tiny', first)}; run tiny; write a.txt a`, {
        workspace: 'proposes',
        thread,
      });
      const question = await asked(id);
      expect(question.prompt).toContain(
        'May this script of practice be part of the image of proposes? It runs once, as root',
      );
      expect(question.evidence).toBe(
        `│ echo "echo ${first}-$(whoami)" > /usr/local/bin/tiny\n│ chmod 755 /usr/local/bin/tiny`,
      );
      expect((await app.say(thread, 'yes')).kind).toBe('answer');
      const task = await inState(app, id, 'completed', BUILD_MS);
      expect([task.step, await lastPrinted(app, id)]).toEqual([2, expect.anything()]);
      expect(JSON.stringify(await linesOf(app, id))).toContain(`${first}-root`);
      expect((await said(id)).at(-1)).toContain('The image has what this script installs');

      await allowForGood(app.store.db, thread, 'command');
      const turn = await app.turn(thread, [
        { call: [['shell_run', { command: 'tiny', workspace: 'proposes' }]] },
        { say: '$LAST' },
      ]);
      await app.ended(thread, turn);
      expect((await app.detail(thread)).items.at(-1)!.detail).toContain(`${first}-root`);

      const second = await startTask(app, `run tiny; setup ${installs('other', newer)}; run other`, {
        workspace: 'proposes',
      });
      await asked(second.id);
      await app.say(second.thread, 'yes');
      await inState(app, second.id, 'completed', BUILD_MS);
      // the newer one takes the place of the one before
      const third = await startTask(app, 'run other && ! command -v tiny', { workspace: 'proposes' });
      await inState(app, third.id, 'completed');
      expect([await lastPrinted(app, third.id), await questionsOf(third.id)]).toEqual([
        expect.stringContaining(`${newer}-root`),
        [],
      ]);

      const scripts = new SetupScripts(`${app.home}/kennel/environments/scripts`);
      const [kept] = await scripts.list();
      expect(kept).toMatchObject({
        workspace: expect.stringMatching(/\/proposes$/),
        script: expect.stringContaining(newer),
      });
      expect(await scripts.revoke(kept!.workspace)).toBe(true);
      const fourth = await startTask(app, 'run ! command -v other', { workspace: 'proposes' });
      await inState(app, fourth.id, 'completed');
    },
    2 * BUILD_MS,
  );

  it(
    'is told when it was refused, and when its build failed, and the image stays as it was',
    async () => {
      await workspace(app, 'refuses');
      const { thread, id } = await startTask(
        app,
        `setup ${installs('no', word('no'))}; run ! command -v no; setup echo its last words\\nexit 3; setup ${installs('no', word('no'))}; write a.txt a`,
        { workspace: 'refuses' },
      );
      expect((await asked(id)).prompt).not.toContain('others wrote');
      // as if its call had been made after a page was read
      const taint = JSON.stringify({ sources: [{ kind: 'page', label: 'example.com' }], asks: ['web'] });
      const { call_id } = await findTask(app, id);
      await app.store.db.updateTable('calls').set({ taint }).where('id', '=', call_id).execute();
      await app.say(thread, 'no');
      expect((await asked(id, 2)).prompt).toMatch(
        /Careful: I have just read the page example\.com, and this may be its idea\./,
      );
      expect((await said(id))[0]).toContain('The person said no');
      await app.say(thread, 'yes');
      await asked(id, 3);
      expect((await said(id)).at(-1)).toMatch(
        /its build failed, and the image is as before:[\s\S]*its last words\n[^\n]*non-zero code: 3\nPropose another/,
      );
      await app.say(thread, 'no');
      await inState(app, id, 'completed', BUILD_MS);
      expect(
        await new SetupScripts(`${app.home}/kennel/environments/scripts`).of(`${app.home}/workspaces/refuses`),
      ).toBeNull();
    },
    BUILD_MS,
  );

  it(
    'waits for its answer without a container, over kills of every process, and goes on in the new image',
    async () => {
      await workspace(app, 'waits-long');
      const late = word('late');
      const { thread, id } = await startTask(app, `setup ${installs('late', late)}; run late`, {
        workspace: 'waits-long',
      });
      await asked(id);
      await until('its container is gone', () => containersOf(id).length === 0, 120_000);
      for (const role of ['kennel', 'worker', 'gateway'] as const) app.kill(role);
      await until('the gateway is back', () => app.detail(thread), 60_000);
      expect((await app.say(thread, 'yes')).kind).toBe('answer');
      await until(
        'the build runs',
        async () =>
          (
            await app.store.db.selectFrom('tasks').select('last').where('id', '=', id).executeTakeFirst()
          )?.last?.includes('Building'),
        BUILD_MS,
      );
      app.kill('kennel');
      const task = await inState(app, id, 'completed', BUILD_MS);
      expect([task.step, await lastPrinted(app, id)]).toEqual([2, expect.stringContaining(`${late}-root`)]);
      expect((await said(id))[0]).toContain('There is no answer yet');
      expect(await questionsOf(id)).toHaveLength(1);
    },
    BUILD_MS,
  );

  it(
    'is waited for when its agent ends its turn beside it',
    async () => {
      await workspace(app, 'beside');
      const beside = word('beside');
      const script = `echo "echo ${beside}" > /usr/local/bin/beside && chmod 755 /usr/local/bin/beside`;
      const { thread, id } = await startTask(
        app,
        `run (echo '${script}' | setsid fetch-setup - >/dev/null 2>&1 &) && sleep 2`,
        { workspace: 'beside' },
      );
      await asked(id);
      await until('its container is gone', () => containersOf(id).length === 0);
      await app.say(thread, 'yes');
      const task = await inState(app, id, 'completed', BUILD_MS);
      expect(task.step).toBe(2);
      const second = await startTask(app, 'run beside', { workspace: 'beside' });
      await inState(app, second.id, 'completed');
      expect(await lastPrinted(app, second.id)).toContain(beside);
    },
    BUILD_MS,
  );

  it(
    'is no question when it is too long, hides something, or is empty',
    async () => {
      await workspace(app, 'floods');
      const propose = (script: string) => `run ${script} | fetch-setup - || test $? = 1`;
      const { id } = await startTask(
        app,
        [
          propose('yes | head -c 20000'),
          propose('printf "echo \\\\033[8mhidden"'),
          propose('echo "curl -H Authorization: Bearer 0123456789abcdef0123456789"'),
          propose('true'),
          'run fetch-setup 2>&1 || true',
          // what a container writes into its own log by itself has the same limit
          `run node -e 'f=require("fs"), p="/run/fetch/log.ndjson", n=Number(f.readFileSync(p,"utf8").match(/"seq":\\d+/g).at(-1).slice(6)), f.appendFileSync(p, JSON.stringify({seq:n+1,at:new Date(),step:1,type:"permission",id:"forged",title:"x",kind:"setup",command:"x".repeat(20000)})+String.fromCharCode(10))'`,
          'write a.txt a',
        ].join('; '),
        { workspace: 'floods' },
      );
      await inState(app, id, 'completed', BUILD_MS);
      const lines = JSON.stringify(await linesOf(app, id));
      for (const text of [
        'The script is too long: 16384 bytes',
        'invisible characters, or something that looks like a key',
        'The script is empty',
        'Usage: fetch-setup FILE',
      ])
        expect(lines).toContain(text);
      expect(await questionsOf(id)).toEqual([
        expect.objectContaining({ id: `${id}_forged`, state: 'cancelled', decision: 'deny' }),
      ]);
      expect(
        await app.store.db
          .selectFrom('outbox')
          .select('id')
          .where('kind', '=', 'question')
          .where('id', 'like', `%${id}%`)
          .execute(),
      ).toEqual([]);
    },
    BUILD_MS,
  );
});
