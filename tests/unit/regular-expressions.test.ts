import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseSync } from '@swc/core';
import { check } from 'recheck';
import { describe, expect, it } from 'vitest';
import {
  chooseOption,
  isStrayNumber,
  parseApproval,
  parseAutonomy,
  parseCommand,
  parseTaskOrder,
} from '../../src/domain/chat/words/commands.ts';

/**
 * Every text that others write goes through some expression of ours: one that backtracks lets a message hold a process
 * for minutes.
 */

const root = fileURLToPath(new URL('../..', import.meta.url));
const sources = globSync(['src/**/*.ts', 'kennel/{runner,workspace,agents}/**/*.ts', 'temporal/*.ts', 'bin/*.js'], {
  cwd: root,
}).sort();

/**
 * Built from strings, so that no checker sees them whole. Each is made of constants and of escaped words that our own
 * settings name.
 */
const BUILT = [
  'bin/source-lines.js', // an escaped folder
  'kennel/runner/agent/permissions.ts', // names of tools
  'src/adapters/kennel/gate/model/routes.ts', // paths of model endpoints
  'src/adapters/model/written/call-reader.ts', // the name of a tag, of letters and digits
  'src/adapters/model/written/call-starts.ts', // tags and tokens around calls
  'src/adapters/model/written/written-calls.ts', // the same
  'src/domain/chat/trigger.ts', // FETCH_TRIGGER, escaped
  'src/domain/tasks/session-text.ts', // an escaped folder
  'src/domain/text/secrets.ts', // the formats that stand there
  'src/installation.ts', // names of our commands
  'src/page/shared/text/inline.ts', // a row of backticks
];

/**
 * Each literal takes a tenth of a second on an idle machine; there are hundreds, and on a busy one some take ten
 * seconds.
 */
const CHECKING_MS = 900_000;

/**
 * What a version of the checker has found safe: one literal a line, the version first. A literal that does not stand
 * there, or another version of the checker, is checked at each run. `FETCH_TEST_SOAK=all vitest run
 * tests/unit/regular-expressions.test.ts` checks all of them and writes the list.
 */
const LIST = `${root}/tests/unit/regular-expressions.safe.txt`;
const CHECKER = `recheck ${(JSON.parse(readFileSync(`${root}/node_modules/recheck/package.json`, 'utf8')) as { version: string }).version}`;
const all = process.env.FETCH_TEST_SOAK !== undefined;

function foundSafe(): Set<string> {
  const [version, ...safe] = readFileSync(LIST, 'utf8').split('\n');
  return new Set(version === CHECKER && !all ? safe : []);
}

interface Node {
  type?: string;
  pattern?: string;
  flags?: string;
  callee?: { value?: string };
}

function* nodes(value: unknown): Generator<Node> {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) yield value as Node;
  for (const inner of Object.values(value)) yield* nodes(inner);
}

const literals = new Map<string, { file: string; pattern: string; flags: string }>();
const built = new Set<string>();
for (const file of sources) {
  for (const node of nodes(
    parseSync(readFileSync(`${root}/${file}`, 'utf8'), { syntax: 'typescript', target: 'es2022' }),
  )) {
    const { pattern, flags = '' } = node;
    if (node.type === 'RegExpLiteral' && pattern !== undefined)
      literals.set(`/${pattern}/${flags}`, { file, pattern, flags });
    if ((node.type === 'NewExpression' || node.type === 'CallExpression') && node.callee?.value === 'RegExp')
      built.add(file);
  }
}

describe('regular expressions', () => {
  it(
    'take a time that grows no faster than the text, whatever the text is',
    async () => {
      expect(literals.size).toBeGreaterThan(250);
      const unsafe: string[] = [];
      const known = foundSafe();
      for (const [literal, { file, pattern, flags }] of literals) {
        if (known.has(literal)) continue;
        const found = await check(pattern, flags, { timeout: 120_000 });
        if (found.status !== 'safe')
          unsafe.push(
            `${file} ${literal}: ${found.status === 'vulnerable' ? found.complexity.summary : 'cannot be judged'}`,
          );
      }
      expect(unsafe).toEqual([]);
      if (all) writeFileSync(LIST, `${[CHECKER, ...[...literals.keys()].sort()].join('\n')}\n`);
    },
    CHECKING_MS,
  );

  it('are built from strings only where the strings are known', () => {
    expect([...built].sort()).toEqual(BUILT);
  });
});

describe('commands', () => {
  const long = (text: string): string => text.padEnd(201, '.');

  it.each(['stop', 'yes', 'status', 'pause', 'autonomous', 'skip', '7'])(
    '%s is none in a text of more than 200 characters',
    (word) => {
      const text = long(word);
      expect([parseCommand(text), parseTaskOrder(text), parseAutonomy(text), parseApproval(text)]).toEqual([
        null,
        null,
        null,
        null,
      ]);
      expect(chooseOption([word], text)).toBe(text);
      expect(isStrayNumber(['one'], text)).toBe(false);
    },
  );
});
