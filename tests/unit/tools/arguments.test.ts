import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { parseMended, readArguments } from '../../../src/tools/arguments.ts';
import { prepareCall } from '../../../src/tools/registry.ts';
import { anyText } from '../../support/any-text.ts';
import { holds } from '../../support/property.ts';

const read = (raw: string) => readArguments(raw);
const value = (raw: string) => {
  const found = read(raw);
  return found.ok ? found.value : found.why;
};

describe('arguments as models write them', () => {
  it.each([
    ['a comma too many', '{"path": "a.txt", "lines": [1, 2,],}', { path: 'a.txt', lines: [1, 2] }],
    [
      'single quotes and the literals of Python',
      "{'path': 'it\\'s', 'all': True, 'no': False, 'none': None}",
      { path: "it's", all: true, no: false, none: null },
    ],
    ['a code fence', '```json\n{"path": "a.txt"}\n```', { path: 'a.txt' }],
    ['a code fence without a language', '```\n{"path": "a.txt"}```', { path: 'a.txt' }],
    ['JSON in a JSON text', JSON.stringify('{"path":"a.txt"}'), { path: 'a.txt' }],
    ['JSON in a JSON text in another one', JSON.stringify(JSON.stringify('{"path":"a.txt",}')), { path: 'a.txt' }],
    ['names without quotes', '{path: "a.txt", max-lines: 3}', { path: 'a.txt', 'max-lines': 3 }],
    ['line ends in a text', '{"content": "a\nb\tc"}', { content: 'a\nb\tc' }],
    ['escapes of a regular expression', '{"pattern": "\\d+\\.\\u0041"}', { pattern: '\\d+\\.A' }],
    ['no bracket at the end', '{"path": "a.txt", "deep": {"list": ["x"', { path: 'a.txt', deep: { list: ['x'] } }],
    ['an empty object before the whole one', '{}{"path":"a.txt"}', { path: 'a.txt' }],
    ['a byte order mark', '\uFEFF{"path":"a.txt"}', { path: 'a.txt' }],
    ['a bracket too many', '{"path": "a.txt"}}', { path: 'a.txt' }],
    ['a token of a template behind it', '{"path": "a.txt"}<|im_end|>\n', { path: 'a.txt' }],
    ['a closing tag behind it', '{"path": "a.txt"}\n</tool_call>', { path: 'a.txt' }],
    ['nothing', '  ', {}],
  ])('are read with %s', (_, raw, expected) => expect(value(raw)).toEqual(expected));

  it.each([
    ['{"path":"a.txt"}{"path":"b.txt"}', /several JSON values/],
    ['{"path":"a.txt"}\n{"path":"a.txt"}', /several JSON values/],
    ['{}{}', /several JSON values/],
    ['{"path":"a.txt"} and then', /more behind/],
    ['{"content": "half', /text in it breaks off/],
    ['{"limit": 1', /number in it breaks off/],
    ['{"path": "a.txt",', /breaks off/],
    ['{"path":', /ends where a value/],
    ['{', /breaks off/],
    ['{"a" 1}', /colon/],
    ['{"a": 1 "b": 2}', /comma/],
    ['call it', /value is expected/],
    ['['.repeat(100_000), /too deeply/],
  ])('are refused where they may mean several things: %s', (raw, why) => expect(value(raw)).toMatch(why));

  it('that are JSON are read as JSON', () => {
    const json = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 }), { maxKeys: 5 });
    holds(
      fc.property(json, (object) => {
        expect(value(JSON.stringify(object))).toEqual(JSON.parse(JSON.stringify(object)));
      }),
    );
  });

  it('are the same with a comma too many, as Python, or without the last bracket', () => {
    const part = fc.oneof(fc.boolean(), fc.integer(), fc.constant(null), fc.string());
    const json = fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), part, { minKeys: 1, maxKeys: 5 });
    const python = (each: unknown) =>
      each === null ? 'None' : typeof each === 'boolean' ? (each ? 'True' : 'False') : JSON.stringify(each);
    holds(
      fc.property(json, (object) => {
        const text = JSON.stringify(object);
        expect(value(`${text.slice(0, -1)},}`)).toEqual(object);
        expect(value(`{${Object.entries(object).map(([key, each]) => `'${key}': ${python(each)}`)}}`)).toEqual(object);
        if (typeof Object.values(object).at(-1) !== 'number') expect(value(text.slice(0, -1))).toEqual(object);
      }),
    );
  });

  it('of any kind are read or refused, and never end the program', () => {
    const broken = fc
      .tuple(fc.json(), fc.nat(), anyText)
      .map(([json, at, text]) => json.slice(0, at % (json.length + 1)) + text);
    holds(
      fc.property(broken, (text) => {
        expect(typeof read(text).ok).toBe('boolean');
      }),
    );
  });
});

describe('arguments that the schema does not take as they are', () => {
  const schema = z.strictObject({
    path: z.string().max(200),
    count: z.int().optional(),
    deep: z.boolean().default(false),
    list: z.array(z.strictObject({ n: z.number() })).optional(),
    content: z.string().max(1_000_000).optional(),
    either: z.union([z.number(), z.strictObject({ on: z.boolean() })]).optional(),
    nothing: z.string().nullable().optional(),
  });
  const mend = (more: object) => {
    const parsed = parseMended(schema, { path: 'a', ...more });
    return parsed.success ? parsed.data : z.prettifyError(parsed.error);
  };

  it.each([
    [{ count: '3' }, { count: 3 }],
    [{ deep: 'True' }, { deep: true }],
    [{ count: null, deep: null, list: null }, {}],
    [{ list: '[{"n": "1"}]' }, { list: [{ n: 1 }] }],
    [{ list: ['{"n": 2}'] }, { list: [{ n: 2 }] }],
    [{ either: { on: 'false' } }, { either: { on: false } }],
    [{ either: '7' }, { either: 7 }],
    [{ content: { a: [1] } }, { content: '{\n  "a": [\n    1\n  ]\n}' }],
    [{ nothing: null }, { nothing: null }],
  ])('are mended: %j', (given, expected) => expect(mend(given)).toEqual({ path: 'a', deep: false, ...expected }));

  it.each([
    [{ path: { a: 1 } }, /expected string, received object[\s\S]*path/],
    [{ path: null }, /expected string[\s\S]*path/],
    [{ path: 3 }, /expected string, received number[\s\S]*path/],
    [{ count: '1.5' }, /count/],
    [{ count: 'many' }, /expected number, received string[\s\S]*count/],
    [{ list: 'x' }, /expected array[\s\S]*list/],
    [{ list: [null] }, /list\[0\]/],
    [{ more: 1 }, /more/],
  ])('are refused with the name of the field and the form that is expected: %j', (given, why) =>
    expect(mend(given)).toMatch(why),
  );
});

describe('the name of a tool in another spelling', () => {
  it.each([
    'functions.web_fetch',
    'web-fetch',
    'Web_Fetch',
    'webFetch',
    ' web_fetch ',
    'functions.web_fetch:0',
    'default_api:web_fetch',
  ])('is understood: %s', (name) =>
    expect(prepareCall(name, '{"url":"https://example.com"}')).toMatchObject({ ok: true, tool: { name: 'web_fetch' } }),
  );

  it('is not guessed where two tools could be meant', () => {
    const added = new Map(
      ['a_b', 'ab', 'a-b2'].map((name) => [
        name,
        { tool: { name, schema: z.looseObject({}) }, declaration: { name } } as never,
      ]),
    );
    expect(prepareCall('A-B', '{}', undefined, added)).toMatchObject({
      ok: false,
      error: expect.stringContaining('There is no tool "A-B"'),
    });
    expect(prepareCall('ab', '{}', undefined, added)).toMatchObject({ ok: true, tool: { name: 'ab' } });
    expect(prepareCall('AB2', '{}', undefined, added)).toMatchObject({ ok: true, tool: { name: 'a-b2' } });
  });

  it('is told with the arguments that a call cannot leave out, where it has no JSON', () =>
    expect(prepareCall('file_write', '{"path":"a"}{"path":"b"}')).toMatchObject({
      ok: false,
      error: expect.stringMatching(
        /several JSON values.*Send one JSON object with path \(string\), content \(string\)/,
      ),
    }));
});
