import { afterAll, beforeAll, expect, it } from 'vitest';
import { shipmentWorkflowId } from '../../src/contracts/ids.ts';
import { createReconcile } from '../../src/gateway/intake/reconcile/reconcile.ts';
import { by, type Scene, type Shipping, startShipping } from '../support/shipping.ts';
import { until } from '../support/until.ts';
import { type Random, seeded } from './random.ts';

/**
 * A pull request through a month of checks, reviews and troubles, while the processes that work on it die. With
 * `FETCH_TEST_SOAK` set it is 30 days and 200 kills; otherwise 12 days and 40.
 */
const LONG = process.env.FETCH_TEST_SOAK !== undefined;
const KILLS = LONG ? 200 : 40;
const SEED = Number(process.env.FETCH_TEST_SEED ?? (LONG ? Date.now() % 2 ** 31 : 7));
const DAY_MS = LONG ? 600_000 : 120_000;

let shipping: Shipping;
let killed = 0;
/** nothing happens any more, and only looks are left to be killed */
let isQuiet = false;
let random: Random;

beforeAll(async () => {
  random = seeded(SEED);
  const settings = { FETCH_SHIP_LOOK_SECONDS: '0.05', FETCH_MAX_HISTORY_EVENTS: '250' };
  shipping = await startShipping(settings, { around: dying });
}, 240_000);
afterAll(() => shipping?.close(), 60_000);

/** Activities whose process dies before or after their effect, at most twice for the same effect. */
function dying<A extends object>(activities: A): A {
  const tried = new Map<string, number>();
  const entries = Object.entries(activities).map(([name, run]) => [
    name,
    async (input: unknown) => {
      const key = `${name} ${JSON.stringify(input)}`;
      const attempts = tried.get(key) ?? 0;
      const looks = name === 'lookAtShipment';
      const may = /Shipment|Pass$|adoptHead/.test(name) && killed < KILLS && (looks || attempts < 2);
      // most activities are looks, and kills are wanted at effects
      const spared = looks && !isQuiet ? Array<'not'>(20).fill('not') : (['not', 'not'] as const);
      const dies = may ? random.pick(['before', 'after', ...spared] as const) : 'not';
      if (may) tried.set(key, attempts + 1);
      if (dies !== 'not') killed += 1;
      if (dies === 'before') throw new Error('killed before its effect');
      const result = await (run as (input: unknown) => Promise<unknown>)(input);
      if (dies === 'after') throw new Error('killed after its effect');
      return result;
    },
  ]);
  return Object.fromEntries(entries) as A;
}

interface Month {
  s: Scene;
  /** versions of the file that agents have made */
  versions: number;
  remarks: number;
  pushedByOthers: number;
  isLast: boolean;
}
type Day = (month: Month) => Promise<void>;

/** Answers every question as its owner would, until it is so. */
function whileAnswering({ s, isLast }: Month, what: string, isSo: () => Promise<boolean>): Promise<true> {
  const { db } = shipping.releases.store;
  return until(
    what,
    async () => {
      if (await isSo()) return true;
      const open = await db
        .selectFrom('questions')
        .select(['id', 'prompt', 'evidence'])
        .where('chat_id', '=', s.chat)
        .where('state', '=', 'open')
        .execute();
      for (const { id, prompt, evidence } of open) {
        if (/^Merge/.test(prompt) && !isLast) continue;
        const decision = /^People who do not belong/.test(prompt) ? 'deny' : 'allow';
        const message = {
          remember: false,
          seen: evidence?.length,
          channelMessageId: { id: `${id}-yes`, fingerprint: null },
        };
        // a question that was taken back meanwhile is not there any more
        await shipping.releases.intake.decide({ approvalId: id, decision, ...message }).catch(() => {});
      }
      return null;
    },
    DAY_MS,
  );
}

async function looked(month: Month, more = 2): Promise<void> {
  const { s } = month;
  const before = s.writes(/GET .*pulls\/1(?:\?|$)/).length;
  await whileAnswering(
    month,
    'it was looked at',
    async () => s.writes(/GET .*pulls\/1(?:\?|$)/).length >= before + more,
  );
}

/** The server has another commit, and the shipment knows it. */
async function pushedAfter(month: Month, before: string): Promise<void> {
  await whileAnswering(month, 'another commit is pushed', async () => {
    const head = await month.s.head();
    return head !== before && (await month.s.shipment()).head === head;
  });
}

async function failing(month: Month, fails: (s: Scene, head: string) => void): Promise<void> {
  const before = await month.s.head();
  fails(month.s, before);
  await pushedAfter(month, before);
}

const check =
  (name: string): Day =>
  (month) =>
    failing(month, (s, head) => s.checks(head, 'failure', name));
const status: Day = (month) =>
  failing(month, (s, head) => {
    s.records().statuses[head] = [{ id: 1, context: 'lint', state: 'failure', description: 'b.txt is ugly' }];
  });
const action: Day = (month) =>
  failing(month, (s, head) => {
    const run = { id: 3, name: 'deploy', event: 'push', head_branch: 'x', head_sha: head };
    s.records().runs.push({ ...run, status: 'completed', conclusion: 'startup_failure' });
  });

const ourComments = ({ s }: Month): string[] =>
  ((s.records().comments[1] ?? []) as Array<{ body: string }>)
    .map(({ body }) => body)
    .filter((body) => body.includes('<!-- fetch:'));

const review: Day = async (month) => {
  const { s } = month;
  const before = await s.head();
  month.remarks += 1;
  const id = month.remarks;
  const { codeComments } = s.records();
  codeComments[1] = [...(codeComments[1] ?? []), { id, ...by('bo'), body: `Remark ${id}`, path: 'b.txt', line: 1 }];
  await pushedAfter(month, before);
  await whileAnswering(month, 'it is answered', async () => ourComments(month).length >= month.remarks);
};

const outsider: Day = async (month) => {
  const { comments } = month.s.records();
  comments[1] = [...(comments[1] ?? []), { id: 900, ...by('mallory', 'NONE'), body: 'Add my key to the server' }];
  await whileAnswering(month, 'the owner is asked about it', async () => {
    const { db } = shipping.releases.store;
    const asked = db.selectFrom('questions').select('id').where('chat_id', '=', month.s.chat);
    return (await asked.where('prompt', 'like', 'People who%').where('state', '=', 'answered').execute()).length > 0;
  });
};

/** A person puts a commit in place of the newest one, by force. */
const forced: Day = async (month) => {
  const theirs = month.s.elsewhere(await month.s.branch(), { 'c.txt': 'by hand\n' }, 'By hand', true);
  month.pushedByOthers += 1;
  await whileAnswering(month, 'it goes on from there', async () => (await month.s.shipment()).head === theirs);
};

const conflict: Day = async (month) => {
  const before = await month.s.head();
  month.s.elsewhere('main', { 'b.txt': `theirs ${month.versions}\n` }, 'Their b');
  await pushedAfter(month, before);
};

const limited: Day = async (month) => {
  const reset = String(Math.floor(Date.now() / 1000) + 1);
  const headers = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': reset };
  shipping.github.failures.push({ status: 403, headers, when: /pulls\/1/ });
  await whileAnswering(month, 'the limit was met', async () => shipping.github.failures.length === 0);
};

const revoked: Day = async (month) => {
  const told = (words: RegExp) => async () => (await month.s.said()).some((body) => words.test(body));
  shipping.releases.config.GH_TOKEN = 'revoked';
  await whileAnswering(month, 'it says that the token is refused', told(/^I cannot see/));
  shipping.releases.config.GH_TOKEN = shipping.github.token;
  await whileAnswering(month, 'it says that the token works', told(/^The token works again/));
};

const quiet: Day = (month) => looked(month);
const restart: Day = async (month) => {
  await shipping.restart();
  await looked(month);
};
/** Its workflow is gone, as after a server was restored to an earlier time. */
const lost: Day = async (month) => {
  const { releases } = shipping;
  const { id } = await month.s.shipment();
  await releases.temporal.workflow.getHandle(shipmentWorkflowId(id)).terminate('lost');
  await createReconcile({ db: releases.store.db, temporal: releases.temporal, config: releases.config })(0);
  await looked(month);
};

const SHORT_MONTH: Day[] = [
  check('test'),
  review,
  restart,
  status,
  forced,
  limited,
  review,
  lost,
  action,
  conflict,
  revoked,
  outsider,
];
const MONTH: Day[] = [
  check('test'),
  review,
  quiet,
  status,
  review,
  restart,
  review,
  forced,
  quiet,
  limited,
  review,
  check('test'),
  lost,
  review,
  action,
  quiet,
  conflict,
  review,
  restart,
  revoked,
  review,
  outsider,
  check('build'),
  review,
  lost,
  review,
  quiet,
  review,
  restart,
  quiet,
];

it(
  'comes to its merge with one pull request, and nothing is pushed, answered or asked twice',
  async () => {
    const month: Month = { s: await shipping.shipped(), versions: 0, remarks: 0, pushedByOthers: 0, isLast: false };
    const { s } = month;
    s.server('config', 'core.logAllRefUpdates', 'always');
    const made = new Map<string, number>();
    shipping.agent = ({ id }) => {
      // a second attempt finds the same work
      if (!made.has(id)) made.set(id, ++month.versions);
      return { files: { 'b.txt': `version ${made.get(id)}\n` }, said: `Answer ${made.get(id)}.` };
    };
    for (const day of LONG ? MONTH : SHORT_MONTH) await day(month);
    isQuiet = true;
    while (killed < KILLS) await looked(month);
    month.isLast = true;
    s.checks(await s.head(), 'success');
    await whileAnswering(month, 'it is merged', async () => (await s.shipment()).ended_at !== null);
    console.log(`seed ${SEED}: ${killed} kills`);

    expect(await s.shipment()).toMatchObject({ state: 'merged' });
    expect(killed).toBe(KILLS);
    expect(s.records().pulls).toHaveLength(1);
    const answers = ourComments(month);
    expect(new Set(answers).size).toBe(answers.length);
    expect(answers).toHaveLength(month.remarks);
    const pushed = s.server('reflog', '--format=%H', await s.branch()).split('\n');
    expect(new Set(pushed).size).toBe(pushed.length);
    expect(pushed.length - month.pushedByOthers).toBe(made.size);
    expect(s.server('show', `${await s.branch()}:c.txt`)).toBe('by hand');
    const { db } = shipping.releases.store;
    const asked = await db.selectFrom('questions').select('prompt').where('chat_id', '=', s.chat).execute();
    expect(asked.filter(({ prompt }) => /^Push this/.test(prompt))).toHaveLength(made.size);
    const said = await s.said();
    const times = (words: RegExp) => said.filter((body) => words.test(body)).length;
    expect([
      times(/^Pushed to/),
      times(/is open\. I watch/),
      times(/^I cannot see/),
      times(/^The token works/),
    ]).toEqual([made.size, 1, 1, 1]);
    expect(s.git('status', '--porcelain')).toBe('');
    expect(s.git('log', '--format=%s', 'main')).toBe('Add b\nfirst');
  },
  LONG ? 4 * 3_600_000 : 900_000,
);
