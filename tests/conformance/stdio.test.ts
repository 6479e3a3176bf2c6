import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { spawnFor } from '../support/editor.ts';
import { type SharedApp, useSharedApp } from '../support/shared-app.ts';
import { until } from '../support/until.ts';
import { shapeOf } from './skeleton.ts';

/** The recorded lines of an editor, sent to our agent one after the other. */

interface Line {
  id?: unknown;
  method?: string;
  params?: { update?: { sessionUpdate: string; content?: { text: string } } };
  result?: unknown;
  error?: { code: number; message: string };
}
interface Recorded {
  exchange: Array<{ in: string; out: string[] }>;
  rc: number;
}

/** Where ours answers otherwise on purpose: docs/differences.md says why. */
const DIFFERENT: Array<{ line: RegExp; error: unknown }> = [
  { line: /"session\/load"/, error: { code: -32602, message: 'sessionId is required' } },
  { line: /^\{bad json/, error: { code: -32700, message: expect.stringMatching(/^invalid json: /) } },
  { line: /fail/, error: { code: -32603, message: expect.stringContaining('401') } },
];

let app: SharedApp;
useSharedApp((shared) => {
  app = shared;
});

const { exchange, rc } = JSON.parse(readFileSync(new URL('golden/stdio.jsonl', import.meta.url), 'utf8')) as Recorded;

it('an agent on stdio answers each recorded line as recorded', async () => {
  const agent = spawnFor(app, 'serve', '--acp');
  const told: Line[] = [];
  let rest = '';
  agent.stdout!.on('data', (chunk: Buffer) => {
    const parts = (rest + chunk.toString()).split('\n');
    rest = parts.pop()!;
    told.push(...parts.map((line) => JSON.parse(line) as Line));
  });
  let session = '';
  for (const { in: line, out } of exchange) {
    const recorded = out.map((text) => JSON.parse(text) as Line);
    const seen = told.length;
    agent.stdin!.write(`${line.replaceAll('<ws>', app.home).replaceAll('codewhale-uuid<1>', session)}\n`);
    const expected = recorded.find((each) => 'id' in each);
    // nothing answers a notification and an empty line; what they would say stands before the next answer
    if (!expected) continue;
    const answer = await until(`an answer to ${line}`, () => told.slice(seen).find((each) => 'id' in each));
    // an id is not made a string of
    expect(answer.id === null ? null : String(answer.id), line).toBe(expected.id);
    if (expected.error)
      expect(answer.error, line).toEqual(DIFFERENT.find((each) => each.line.test(line))?.error ?? expected.error);
    else compareResults(line, expected.result, answer.result);
    compareWords(line, recorded, told.slice(seen));
    session = (answer.result as { sessionId?: string } | undefined)?.sessionId ?? session;
  }
  await until('it has ended', () => agent.exitCode !== null);
  expect(agent.exitCode).toBe(rc);
  expect(told.filter((each) => 'id' in each)).toHaveLength(
    exchange.flatMap(({ out }) => out).filter((text) => 'id' in JSON.parse(text)).length,
  );
});

/** What was recorded is there, with its type; what has one value has that value. */
function compareResults(line: string, recorded: unknown, ours: unknown): void {
  expect([...shapeOf(ours)], line).toEqual(expect.arrayContaining([...shapeOf(recorded)]));
  if (recorded === null || Object.hasOwn(recorded as object, 'stopReason')) expect(ours, line).toEqual(recorded);
  const version = (recorded as { protocolVersion?: number } | null)?.protocolVersion;
  if (version !== undefined) expect(ours, line).toMatchObject({ protocolVersion: version, authMethods: [] });
}

/** An answer of the model comes before the end of the prompt; a scripted one word for word. */
function compareWords(line: string, recorded: Line[], ours: Line[]): void {
  const words = (lines: Line[]) =>
    lines
      .flatMap(({ params }) =>
        params?.update?.sessionUpdate === 'agent_message_chunk' ? (params.update.content?.text ?? '') : [],
      )
      .join('');
  if (/\\"say/.test(line)) expect(words(ours), line).toBe(words(recorded));
  else expect(words(ours) !== '', line).toBe(words(recorded) !== '');
}
