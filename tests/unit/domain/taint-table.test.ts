import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Danger } from '../../../src/contracts/conversation.ts';
import { SINKS, SOURCE_KINDS } from '../../../src/contracts/taint.ts';
import { decide, decideUnattended, policyOf } from '../../../src/domain/consent/policy.ts';
import { type Effect, type Provenance, taintOf } from '../../../src/domain/consent/taint.ts';
import { tools } from '../../../src/tools/registry.ts';
import { dangerOf, effectOf, type Tool } from '../../../src/tools/tool.ts';
import { goodCall } from '../../support/good-call.ts';

/** The table of docs/security.md, cell by cell: what was read, what is called, how much the chat trusts. */

const MODES = ['supervised', 'cautious', 'autonomous'] as const;
/** Of every tool that has a sink, calls that no words of a person explain. */
const CALLS: Record<string, Array<Record<string, unknown>>> = {
  browser_action: [{ action: 'click', ref: 1 }, { action: 'type', ref: 1, text: 'x' }, { action: 'back' }],
  preferences: [{ autonomy: 'autonomous' }, { autonomy: 'cautious' }, { model: 'a/b' }, { quietHours: '22:00-07:00' }],
  forget: [{ id: 'mem_1' }, { id: 'all' }],
  workspace_clone: [{ from: 'https://example.com/a/b.git' }, { from: '/home/ada/shop' }],
  workspace_publish: [{ name: 'x' }, { name: 'x', isPublic: true }],
  send_message: [{ text: 'x', chat: 'y' }],
};
/** Calls that send nothing that others could have chosen. */
const HARMLESS: Array<[string, Record<string, unknown>]> = [
  ['browser_action', { action: 'scroll_down' }],
  ['preferences', { autonomy: 'supervised' }],
  ['preferences', { brevity: 'short' }],
  ['preferences', { language: 'German' }],
  ['send_message', { text: 'x' }],
];
/** Each with its danger, which takes long to find for a schedule. */
const calls = new Map(
  [...tools.values()].map((tool) => [
    tool,
    (CALLS[tool.name] ?? [goodCall(tool)]).map((given) => {
      const args = tool.schema.parse(given) as Record<string, unknown>;
      return { args, danger: dangerOf(tool, args), effect: effectOf(tool, args) };
    }),
  ]),
);
type Made = { args: Record<string, unknown>; danger: Danger; effect: Effect };
const callsOf = (tool: Tool): Made[] => calls.get(tool)!;

const nothing: Provenance = { sources: [], words: [], wordsNow: [], links: new Set(), grants: new Set() };
const verdict = (
  { name }: Tool,
  { danger, effect }: Made,
  known: Provenance,
  mode: (typeof MODES)[number],
  approves: boolean,
) => policyOf({ name, danger }, mode, approves, taintOf(effect, known));

const page = readFileSync(new URL('../../../docs/security.md', import.meta.url), 'utf8');
const rows = (heading: string): string[][] => {
  const table = page.slice(page.indexOf(heading)).split('\n\n', 1)[0]!;
  return table
    .split('\n')
    .slice(2)
    .map((line) => line.split('|').map((cell) => cell.trim()));
};

describe('a call with a sink', () => {
  const sending = [...tools.values()].filter(({ sends }) => sends.length > 0);

  it('asks after text of any source, in every mode, whatever is approved', () => {
    const unasked: string[] = [];
    let cells = 0;
    for (const kind of SOURCE_KINDS)
      for (const tool of sending)
        for (const made of callsOf(tool))
          for (const mode of MODES)
            for (const approves of [false, true]) {
              cells += 1;
              const known = { ...nothing, sources: [{ kind, label: 'x' }] };
              const cell = `${kind}, ${tool.name} ${JSON.stringify(made.args)}, ${mode}${approves ? ' and approved' : ''}`;
              if (verdict(tool, made, known, mode, approves) !== 'ask') unasked.push(cell);
              if (decideUnattended(made.danger, mode, taintOf(made.effect, known)) !== 'refuse')
                unasked.push(`${cell}, and nobody can be asked`);
            }
    expect(unasked).toEqual([]);
    expect(cells).toBeGreaterThan(SOURCE_KINDS.length * sending.length * MODES.length * 2);
  });

  it('asks no more than its danger wants while nothing of others was read, but where it asks each time', () => {
    for (const tool of sending)
      for (const made of callsOf(tool))
        for (const mode of MODES)
          for (const approves of [false, true]) {
            const each = made.effect.always;
            expect([tool.name, mode, verdict(tool, made, nothing, mode, approves)], JSON.stringify(made.args)).toEqual([
              tool.name,
              mode,
              each ? 'ask' : decide(made.danger, mode, approves),
            ]);
          }
  });

  it.each(HARMLESS)('%s %j asks only what its danger wants', (name, args) => {
    const tool = tools.get(name)!;
    const made = { args, danger: dangerOf(tool, args), effect: effectOf(tool, args) };
    for (const kind of SOURCE_KINDS)
      for (const mode of MODES)
        expect(verdict(tool, made, { ...nothing, sources: [{ kind, label: 'x' }] }, mode, false)).toBe(
          decide(made.danger, mode, false),
        );
  });
});

describe('a call without a sink', () => {
  it('asks what its danger wants, whatever was read: tests, commits and undo go on in an autonomous chat', () => {
    const quiet = [...tools.values()].filter(({ sends }) => sends.length === 0);
    for (const tool of quiet)
      for (const kind of SOURCE_KINDS)
        for (const mode of MODES) {
          const made = callsOf(tool)[0]!;
          const known = { ...nothing, sources: [{ kind, label: 'x' }] };
          expect(verdict(tool, made, known, mode, false), tool.name).toBe(
            tool.name === 'ask_user' ? 'ask' : decide(made.danger, mode, false),
          );
        }
    expect(quiet.map(({ name }) => name)).toEqual(expect.arrayContaining(['app_test', 'git_commit', 'undo']));
  });

  it('is never dangerous: what deletes or runs a command has a sink', () => {
    for (const tool of tools.values())
      if (tool.danger === 'DANGEROUS') expect([tool.name, tool.sends.length > 0]).toEqual([tool.name, true]);
  });
});

describe('docs/security.md', () => {
  it('names every source', () => {
    expect(rows('| source | what |').map(([, source]) => source)).toEqual(SOURCE_KINDS.map((kind) => `\`${kind}\``));
  });

  it('names the tools of every sink', () => {
    const documented = new Map<string, Set<string>>();
    for (const [, sink = '', named = ''] of rows('| sink | tools |'))
      for (const [, tool = ''] of named.matchAll(/`(\w+)`/g))
        if (tools.has(tool)) documented.set(sink, (documented.get(sink) ?? new Set()).add(tool));
    const declared = SINKS.map((sink) => [
      `\`${sink}\``,
      [...tools.values()].filter(({ sends }) => sends.includes(sink)).map(({ name }) => name),
    ]);
    for (const [sink, names] of declared as Array<[string, string[]]>)
      expect([sink, [...(documented.get(sink) ?? [])].toSorted()]).toEqual([sink, names.toSorted()]);
    expect(
      rows('| sink | tools |')
        .map(([, sink]) => sink)
        .every((sink) => SINKS.some((each) => sink === `\`${each}\``)),
    ).toBe(true);
  });
});
