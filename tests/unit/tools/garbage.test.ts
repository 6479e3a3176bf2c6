import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { english } from '../../../src/domain/texts/say.ts';
import { prepareCall, tools } from '../../../src/tools/registry.ts';
import { anyText } from '../../support/any-text.ts';
import { declaredOf, goodCall, goodValue } from '../../support/good-call.ts';
import { holds } from '../../support/property.ts';

/**
 * What a model may write as the arguments of a tool. Everything here comes from the declarations, so a new tool is
 * tried without a line for it.
 */

const ask = (name: string, args: unknown) => prepareCall(name, typeof args === 'string' ? args : JSON.stringify(args));
/** Nobody could answer an error that is longer. */
const LONGEST_ERROR = 20_000;

const WRONG: Record<string, unknown[]> = {
  string: [1, true, null, [], {}, ['x']],
  integer: ['x', '1.5', ' ', '0x1', 1.5, true, null, [], {}],
  number: ['x', '1e999', true, null, [], {}],
  boolean: ['yes', '1', 1, 0, null, [], {}],
  array: ['x', 1, true, null, {}, { 0: 'x', length: 1 }],
  object: ['x', 1, true, null, []],
};
const BIG = 'x'.repeat(2_000_000);
const deep = (depth: number): string => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;

describe.each([...tools.values()].map((tool) => [tool.name, tool] as const))('%s', (name, tool) => {
  const declared = declaredOf(tool);
  const properties = Object.entries(declared.properties ?? {});
  const good = goodCall(tool);

  it('takes a good call, and each argument that it declares', () => {
    expect(ask(name, good)).toMatchObject({ ok: true });
    for (const [key, part] of properties)
      expect([key, ask(name, { ...good, [key]: goodValue(name, key, part) })]).toMatchObject([key, { ok: true }]);
  });

  it('refuses an argument of a wrong type, and names it', () => {
    for (const [key, part] of properties) {
      const types = [part.type, ...(part.anyOf ?? []).map(({ type }) => type)]
        .flat()
        .filter((type): type is string => type !== undefined);
      if (types.length === 0) continue;
      const allowed = new Set(types.includes('number') ? [...types, 'integer'] : types);
      const wrong = Object.entries(WRONG)
        .filter(([type]) => types.includes(type))
        .flatMap(([, values]) => values);
      const kindOf = (value: unknown): string =>
        value === null
          ? 'null'
          : Array.isArray(value)
            ? 'array'
            : typeof value === 'number'
              ? Number.isInteger(value)
                ? 'integer'
                : 'number'
              : typeof value;
      // null for what may be left out is mended
      const optional = !declared.required?.includes(key);
      for (const value of wrong.filter((each) => !allowed.has(kindOf(each)) && !(each === null && optional)))
        expect([key, value, ask(name, { ...good, [key]: value })]).toMatchObject([
          key,
          value,
          { ok: false, error: expect.stringContaining(key) },
        ]);
    }
  });

  it('takes a number and a boolean that are written as text, and null for what may be left out', () => {
    for (const [key, part] of properties) {
      const { [key]: _, ...without } = good as Record<string, unknown>;
      const value = goodValue(name, key, part);
      const asText = ask(name, {
        ...good,
        [key]: ['integer', 'number', 'boolean'].includes(part.type as string) ? `${value}` : value,
      });
      expect([key, asText]).toEqual([key, ask(name, { ...good, [key]: value })]);
      if (
        !declared.required?.includes(key) &&
        !(key in good) &&
        part.type !== undefined &&
        ![part.type].flat().includes('null')
      )
        expect([key, ask(name, { ...without, [key]: null })]).toEqual([key, ask(name, without)]);
    }
  });

  it('keeps each limit that it declares', () => {
    for (const [key, part] of properties) {
      const refused = (value: unknown) =>
        expect([key, ask(name, { ...good, [key]: value })]).toMatchObject([key, { ok: false }]);
      const { maxLength, maxItems, minimum, maximum, enum: options } = part;
      if (maxLength !== undefined) refused('x'.repeat(maxLength + 1));
      if (maxItems !== undefined)
        refused(
          Array.from({ length: maxItems + 1 }, (_, at) =>
            part.items?.type === 'string' ? `x${at}` : goodValue(name, '', part.items!),
          ),
        );
      if (minimum !== undefined && minimum > Number.MIN_SAFE_INTEGER) refused(minimum - 1);
      if (maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER) refused(maximum + 1);
      if (options) refused('something else');
      if (part.type === 'string' && !options) refused(BIG);
    }
  });

  it('refuses names that it does not declare, and those that objects have by themselves', () => {
    for (const key of [
      'nonsense',
      '__proto__',
      'constructor',
      'prototype',
      'toString',
      '',
      'confirmed',
      '\0',
      '\ud83d',
    ])
      if (!properties.some(([known]) => known === key))
        expect([
          key,
          ask(
            name,
            `{${JSON.stringify(key)}:{"a":1}${properties.length > 0 && Object.keys(good).length > 0 ? `,${JSON.stringify(good).slice(1, -1)}` : ''}}`,
          ),
        ]).toMatchObject([key, { ok: false }]);
    expect(({} as { a?: number }).a).toBeUndefined();
  });

  it('refuses what is no object, however deep', () => {
    for (const text of [
      'null',
      '[]',
      '"x"',
      '1',
      'true',
      '{',
      '{"a"',
      '{}{}',
      'undefined',
      `[${JSON.stringify(good)}]`,
      deep(50_000),
      '['.repeat(100_000),
      BIG,
    ]) {
      const answer = ask(name, text);
      expect([text.slice(0, 20), answer]).toMatchObject([text.slice(0, 20), { ok: false, error: expect.any(String) }]);
      if (!answer.ok) expect(answer.error.length).toBeLessThan(LONGEST_ERROR);
    }
  });

  it('refuses a value with more levels than anything could walk through', () => {
    for (const [key] of properties)
      expect([key, ask(name, `{${JSON.stringify(key)}:${deep(3_000)}}`)]).toMatchObject([key, { ok: false }]);
  });

  it('takes a null character or half of a pair as a text, which the store mends before the tool runs, or refuses it in few words', () => {
    for (const [key, part] of properties) {
      if (part.type !== 'string' || part.enum) continue;
      for (const text of ['a\0b', '\ud83d', 'a\ude00b']) {
        const answer = ask(name, { ...good, [key]: text });
        if (answer.ok) expect([key, typeof answer.args[key]]).toEqual([key, 'string']);
        else expect([key, answer.error.length < LONGEST_ERROR]).toEqual([key, true]);
      }
    }
  });

  it('answers anything with a call that it can run, or with an error', () => {
    const keys = properties.length > 0 ? fc.constantFrom(...properties.map(([key]) => key)) : fc.constant('a');
    const value = fc.oneof(
      anyText,
      fc.jsonValue({ maxDepth: 4 }),
      fc.constantFrom(-1, 0, 1e308, '../..', '/etc/passwd', '--flag', '$(id)', "'", 'x'.repeat(70_000)),
    );
    holds(
      fc.property(
        fc.oneof(
          fc.dictionary(keys, value, { maxKeys: 6 }).map((args) => JSON.stringify({ ...good, ...args })),
          fc.json(),
          anyText,
        ),
        (text) => {
          const answer = ask(name, text);
          if (answer.ok) {
            expect(Object.keys(answer.args).filter((key) => !properties.some(([known]) => known === key))).toEqual([]);
            // what it was asked and how it is judged must not depend on getting through
            for (const derived of [
              tool.dangerOf,
              tool.sent,
              tool.readFrom,
              tool.summarise,
              tool.workspaceOf,
              tool.asksAlways,
            ])
              derived?.(answer.args as never);
            expect(typeof (tool.asks?.(answer.args as never, '', english) ?? '')).toBe('string');
          } else expect([answer.error.length > 0, answer.error.length < 100_000]).toEqual([true, true]);
        },
      ),
      { runs: 25, soak: 5_000 },
    );
  });
});

it('a name of a tool that is garbage is told as such', () => {
  holds(
    fc.property(anyText, (name) => {
      if (tools.has(name)) return;
      const answer = prepareCall(name, '{}');
      expect(answer).toMatchObject({ ok: false, error: expect.stringMatching(/^There is no tool /) });
    }),
  );
});
