import type { TestApp } from './app.ts';
import { until } from './until.ts';

/** What a person says about what they brought along, in a chat of an instance. */

/** What a command is answered with. */
export async function told(app: Pick<TestApp, 'say' | 'detail'>, thread: string, text: string): Promise<string> {
  await app.say(thread, text);
  return await until(`an answer to ${text}`, async () => {
    const { items } = await app.detail(thread);
    const at = items.findLastIndex((item) => item.kind === 'user_message' && item.detail === text);
    return at < 0 ? null : items.slice(at + 1).find((item) => item.kind === 'agent_message')?.detail;
  });
}

/** Looks at it and says yes; what was shown. */
export async function agree(app: TestApp, thread: string, name: string): Promise<string> {
  const shown = await told(app, thread, `tools show ${name}`);
  const order = /tools allow \S+ [0-9a-f]{8}/.exec(shown)?.[0];
  if (!order) throw new Error(`no way to agree: ${shown}`);
  const answer = await told(app, thread, order);
  if (!answer.startsWith(`I use ${name}`)) throw new Error(answer);
  return shown;
}

/** Waits until the instance has looked at it, and found what the test waits for. */
export const found = (
  app: TestApp,
  name: string,
  ready: (row: { hash: string | null; problem: string | null; agreed: boolean | null }) => boolean,
) =>
  until(`${name} was looked at`, async () => {
    const row = await app.store.db
      .selectFrom('extensions')
      .leftJoin('extension_versions', 'extension_versions.hash', 'extensions.hash')
      .select(['extensions.hash', 'extensions.problem', 'extension_versions.agreed'])
      .where('extensions.name', '=', name)
      .executeTakeFirst();
    return row && ready(row) ? row : null;
  });

export const outputOf = async (app: TestApp, turn: string, name: string): Promise<string> =>
  (
    await app.store.db
      .selectFrom('calls')
      .select('output')
      .where('turn_id', '=', turn)
      .where('name', '=', name)
      .executeTakeFirstOrThrow()
  ).output ?? '';

/** Names of the tools in the body of a model request. */
export const offeredIn = (body: string): string[] =>
  (JSON.parse(body).tools as Array<{ function: { name: string } }>).map(({ function: { name } }) => name);
