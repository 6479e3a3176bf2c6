import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { Sanitiser } from '../../../kennel/runner/log/sanitiser.ts';
import { PendingQuestions, unsettled } from '../../../kennel/runner/questions/pending-questions.ts';
import { SetupProposals, serveProposals } from '../../../kennel/runner/questions/setup-proposals.ts';
import { type LogEvent, type RunSpec, SETUP_BYTES } from '../../../src/contracts/kennel.ts';

const PROGRAM = join(import.meta.dirname, '../../../kennel/runner/questions/fetch-setup');
const closers: Array<() => void> = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** A runner's part that takes scripts, and the program that hands them in. */
async function open(spec: Partial<RunSpec> = {}, present?: string) {
  const folder = mkdtempSync(join(tmpdir(), 'fetch-proposals-'));
  const lines: LogEvent[] = [];
  let parked = 0;
  const pending = new PendingQuestions({
    write: (event) => lines.push(event),
    nextSeq: () => lines.length + 1,
    holdMs: 60_000,
    earlier: new Map(),
    onParked: () => {
      parked += 1;
    },
  });
  const proposals = new SetupProposals({
    spec: spec as RunSpec,
    pending,
    sanitiser: () => new Sanitiser(['a-secret-of-the-run']),
    present,
  });
  const socket = join(folder, 'setup.sock');
  const served = await serveProposals(socket, proposals);
  closers.push(
    () => pending.close(),
    served.close,
    () => rmSync(folder, { recursive: true, force: true }),
  );
  const propose = (script: string) =>
    new Promise<{ code: number; text: string }>((resolve) => {
      const child = execFile(
        'bash',
        [PROGRAM, '-'],
        { env: { PATH: '/usr/bin:/bin', FETCH_SETUP_SOCKET: socket } },
        (error, stdout, stderr) => resolve({ code: Number(error?.code ?? 0), text: `${stdout}${stderr}` }),
      );
      child.stdin!.end(script);
    });
  const questions = () => lines.filter((line) => line.type === 'permission');
  const answer = (decision: 'allow' | 'deny') =>
    pending.take({ id: `${lines.length}`, step: 1, type: 'permit', permissionId: questions().at(-1)!.id, decision });
  return { folder, propose, questions, answer, pending, parked: () => parked };
}

describe('a script that is proposed for the image', () => {
  it('is asked about word by word, and ends the run for a new image when it is agreed to', async () => {
    const { propose, questions, answer, parked } = await open();
    const script = 'apt-get update\n\napt-get install -y "libfoo"\n';
    const reply = propose(script);
    await expect.poll(questions).toEqual([expect.objectContaining({ kind: 'setup', command: script })]);
    answer('allow');
    expect(await reply).toEqual({ code: 75, text: expect.stringContaining('stop now') });
    expect(parked()).toBe(1);
  });

  it('comes to nothing after a no, and is not asked about twice', async () => {
    const { propose, questions, answer, parked } = await open();
    const reply = propose('true\n');
    await expect.poll(questions).toHaveLength(1);
    answer('deny');
    expect(await reply).toEqual({ code: 1, text: expect.stringContaining('said no') });
    expect(await propose('true\n')).toEqual({ code: 1, text: expect.stringContaining('said no') });
    expect([questions().length, parked()]).toEqual([1, 0]);
  });

  it('waits alone: another one is refused meanwhile, and the same one waits with it', async () => {
    const { propose, questions, pending } = await open();
    const first = propose('one\n');
    await expect.poll(questions).toHaveLength(1);
    expect(await propose('two\n')).toEqual({ code: 1, text: expect.stringContaining('Propose one at a time') });
    const again = propose('one\n');
    expect(questions()).toHaveLength(1);
    pending.park();
    for (const each of [first, again])
      expect(await each).toEqual({ code: 75, text: expect.stringContaining('There is no answer yet') });
  });

  it('is answered at once when the image has it, or when it failed in an earlier run', async () => {
    const sha256 = '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824';
    expect(await (await open({}, sha256)).propose('hello')).toEqual({
      code: 0,
      text: expect.stringContaining('The image has'),
    });
    const { propose, questions } = await open({ proposed: { sha256, answer: 'Its build failed.' } });
    expect(await propose('hello')).toEqual({ code: 1, text: 'Its build failed.\n' });
    expect(questions()).toEqual([]);
  });

  it.each([
    ['', 'empty'],
    ['x'.repeat(SETUP_BYTES + 1), 'too long'],
    ['x'.repeat(50 * SETUP_BYTES), 'too long'],
    ['echo \u001b[8mhidden', 'could not see'],
    ['echo \u202egnp.exe', 'could not see'],
    ['curl -H a-secret-of-the-run', 'looks like a key'],
  ])('is refused without a question where a person could not decide about it', async (script, why) => {
    const { propose, questions } = await open();
    expect(await propose(script)).toEqual({ code: 1, text: expect.stringContaining(why) });
    expect(questions()).toEqual([]);
  });

  it('is refused while only a plan is made', async () => {
    expect(await (await open({ plan: true })).propose('true')).toEqual({
      code: 1,
      text: expect.stringContaining('Only a plan is made now'),
    });
  });

  it('is no open question of a later run, which is told what became of it in another way', async () => {
    const { folder } = await open();
    const line = (event: object) => `${JSON.stringify({ seq: 1, at: '', step: 1, ...event })}\n`;
    const asked = { type: 'permission', title: 'x', command: 'ls' };
    writeFileSync(
      join(folder, 'log'),
      line({ ...asked, id: 'p1', kind: 'setup' }) + line({ ...asked, id: 'p2', kind: 'execute' }),
    );
    expect([...unsettled(join(folder, 'log')).keys()]).toEqual(['p2']);
  });
});
