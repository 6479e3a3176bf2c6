import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { commandOf, followCommands } from '../../../kennel/runner/log/commands.ts';
import { LineFollower } from '../../../kennel/runner/log/line-follower.ts';
import { RunLog } from '../../../kennel/runner/log/log.ts';
import type { Command, LogLine } from '../../../src/contracts/kennel.ts';
import { until } from '../../support/until.ts';

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'runner-log-'));
  path = join(folder, 'log.ndjson');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function lines(): LogLine[] {
  return readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as LogLine);
}

const ended = { type: 'ended', outcome: 'completed', reason: 'x' } as const;

describe('the log of a run', () => {
  test('counts on over the steps without a gap', () => {
    const first = new RunLog(path, 1);
    first.write({ type: 'note', level: 'info', text: 'a' });
    first.end(ended);
    const second = new RunLog(path, 2);
    second.write({ type: 'note', level: 'info', text: 'b' });
    second.end(ended);
    expect(lines().map((line) => [line.seq, line.step])).toEqual([
      [1, 1],
      [2, 1],
      [3, 2],
      [4, 2],
    ]);
  });

  test('cuts off the torn line that a killed runner left, and goes on from the whole one before it', () => {
    const first = new RunLog(path, 1);
    first.write({ type: 'note', level: 'info', text: 'a' });
    appendFileSync(path, '{"seq":2,"at":"2026');
    const second = new RunLog(path, 2);
    second.write({ type: 'note', level: 'info', text: 'b' });
    expect(lines().map((line) => line.seq)).toEqual([1, 2]);
  });

  test('begins at 1 when the only line is torn', () => {
    writeFileSync(path, '{"seq":1,"at"');
    new RunLog(path, 1).write({ type: 'note', level: 'info', text: 'b' });
    expect(lines().map((line) => line.seq)).toEqual([1]);
  });

  test('takes nothing after its last line', () => {
    const log = new RunLog(path, 1);
    log.end(ended);
    expect(log.write({ type: 'note', level: 'info', text: 'late' })).toBeNull();
    expect(lines().at(-1)?.type).toBe('ended');
  });

  test('drops words beyond its limit with one note, then everything but what the person decides, and says that it is full', () => {
    const log = new RunLog(path, 1, { text: 2000, all: 4000 });
    const full: string[] = [];
    log.onFull = (reason) => full.push(reason);
    for (let n = 0; n < 50; n++) log.write({ type: 'text', messageId: 'm', text: 'x'.repeat(100) });
    expect(full).toEqual([]);
    for (let n = 0; n < 50; n++)
      log.write({ type: 'plan', entries: [{ content: 'y'.repeat(100), status: 'pending' }] });
    log.write({ type: 'question', id: 'q', question: 'still here?', options: [] });
    log.end(ended);
    expect(full).toHaveLength(1);
    expect(lines().filter((line) => line.type === 'note')).toHaveLength(2);
    expect(
      lines()
        .slice(-2)
        .map((line) => line.type),
    ).toEqual(['question', 'ended']);
    expect(lines().map((line) => line.seq)).toEqual(lines().map((_, at) => at + 1));
  });
});

describe('following commands', () => {
  const commands = () => join(folder, 'commands.ndjson');
  const cancel = (id: string, step = 1) => `${JSON.stringify({ id, step, type: 'cancel' })}\n`;

  test('takes each command of its step once, also from a file that is made later', async () => {
    const taken: Command[] = [];
    const follower = followCommands(commands(), 1, (command) => taken.push(command));
    writeFileSync(commands(), cancel('a') + cancel('other', 2) + cancel('a'));
    await until('the first', () => taken.length > 0, 5000);
    appendFileSync(commands(), cancel('a') + cancel('b'));
    await until('the second', () => taken.length > 1, 5000);
    await follower.settle();
    expect(taken.map((command) => command.id)).toEqual(['a', 'b']);
    follower.close();
  });

  test('waits for the end of a torn line, and passes over what is no command', async () => {
    const taken: Command[] = [];
    const whole = cancel('a');
    writeFileSync(commands(), `nonsense\n[1]\n{"id":1}\n${whole.slice(0, 10)}`);
    const follower = followCommands(commands(), 1, (command) => taken.push(command));
    await follower.settle();
    expect(taken).toEqual([]);
    appendFileSync(commands(), whole.slice(10));
    await until('the command', () => taken.length === 1, 5000);
    follower.close();
  });

  test('takes only commands whose fields are what they should be', () => {
    expect(commandOf({ id: 'a', step: 1, type: 'answer', questionId: 'q', answer: 'x' })).not.toBeNull();
    expect(commandOf({ id: 'a', step: 1, type: 'answer', questionId: 'q' })).toBeNull();
    expect(commandOf({ id: 'a', step: 1, type: 'permit', permissionId: 'p', decision: 'maybe' })).toBeNull();
    expect(commandOf({ id: 'a', step: '1', type: 'cancel' })).toBeNull();
  });

  test('can begin at the end of a file, and skips a line that is far too long', async () => {
    writeFileSync(commands(), '{"n":1}\n');
    const taken: unknown[] = [];
    const follower = new LineFollower(commands(), (line) => taken.push(line.n), 'end');
    appendFileSync(commands(), `{"n":"${'x'.repeat(3 * 1024 * 1024)}"}\n{"n":3}\n`);
    await until('the last line', () => taken.includes(3), 10_000);
    expect(taken).toEqual([3]);
    follower.close();
  });
});
