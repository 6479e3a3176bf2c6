import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ModelFacts, ModelMessage, ModelRequest, ModelTool } from '../../../src/adapters/model/model.ts';
import { strictSchema } from '../../../src/adapters/model/request/schema.ts';
import { strictRequest } from '../../../src/adapters/model/request/strict.ts';
import { wireBody } from '../../../src/adapters/model/request/wire.ts';
import { declarations } from '../../../src/tools/registry.ts';
import { holds } from '../../support/property.ts';
import { checkRequest } from '../../support/request-rules.ts';

const ENDPOINT = 'http://127.0.0.1:1/v1';

const written = (messages: ModelMessage[], tools: ModelTool[] = [], facts: ModelFacts = {}): string => {
  const request: ModelRequest = {
    model: 'm',
    messages,
    tools,
    signal: new AbortController().signal,
    onDelta: () => {},
    requestId: 'r',
  };
  return wireBody(strictRequest(request, facts).request, ENDPOINT, facts).body;
};
const tool = (name: string, parameters: object = { type: 'object', properties: {} }): ModelTool => ({
  name,
  description: 'd',
  parameters,
});

const text = fc.oneof(
  fc.constantFrom('', ' ', '\n', 'hi', '\ud83d', 'a\0b', '\ude00 x'),
  fc.string({ unit: 'binary' }),
);
const id = fc.oneof(fc.constantFrom('call_1', 'call_2', 'call_3', 'x'), fc.uuid());
const args = fc.oneof(
  fc.constantFrom('{}', '{"path": "a.txt",}', '[1]', '"a"', 'null', '', '{"a":1}{"b":2}'),
  fc.json(),
);
const call = fc.record({ id, name: fc.oneof(fc.constantFrom('file_read', 'a.b/c'), fc.string()), arguments: args });
const state = fc.record({
  wire: fc.constantFrom('chat', 'responses'),
  endpoint: fc.constantFrom(ENDPOINT, 'http://other'),
  model: fc.constantFrom('m', 'n'),
  data: fc.constantFrom(
    null,
    {},
    {
      message: { reasoning_content: 'thought' },
      calls: [{ extra_content: { google: { thought_signature: 's' } } }, null],
    },
  ),
});
const message = fc.oneof(
  fc.record({ role: fc.constantFrom('system', 'user'), content: text }),
  fc.record({ role: fc.constant('user'), content: text, pictures: fc.constant(['AAAA']) }),
  fc.record(
    { role: fc.constant('assistant'), content: text, calls: fc.array(call, { maxLength: 3 }), state },
    { requiredKeys: ['role', 'content'] },
  ),
  fc.record({ role: fc.constant('tool'), callId: id, content: text }),
) as fc.Arbitrary<ModelMessage>;
const factsOf = fc.record(
  {
    alternates: fc.constant(true),
    noSystem: fc.constant(true),
    noPictures: fc.constant(true),
    reasoningBack: fc.constant(true),
    skipSignature: fc.constant(true),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<ModelFacts>;

/** Schemas as tools of others bring them along, references and loops included. */
const schema = fc.letrec((tie) => ({
  schema: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.constantFrom(
      {},
      { type: 'array' },
      { type: ['string', 'null'] },
      { const: 1 },
      { enum: ['a', null] },
      { $ref: '#/$defs/Node' },
      { $ref: 'https://x/y' },
    ),
    fc.constantFrom(
      { type: 'string', format: 'uri', pattern: '^(?=a)b$' },
      { type: 'number', exclusiveMinimum: 0, multipleOf: 2 },
      { type: ['string', 'number'] },
    ),
    fc.record(
      {
        type: fc.constant('object'),
        properties: fc.dictionary(fc.string({ maxLength: 3 }), tie('schema')),
        required: fc.array(fc.string({ maxLength: 3 })),
      },
      { requiredKeys: [] },
    ),
    fc.record({ items: tie('schema'), uniqueItems: fc.constant(true), type: fc.constant('array') }),
    fc.record({ prefixItems: fc.array(tie('schema'), { maxLength: 2 }) }),
    fc.record({ anyOf: fc.array(tie('schema'), { maxLength: 3 }) }),
    fc.record({ oneOf: fc.array(tie('schema'), { maxLength: 3 }), title: fc.constant('t') }),
    fc.record({ allOf: fc.array(tie('schema'), { maxLength: 3 }), additionalProperties: tie('schema') }),
  ),
})).schema as fc.Arbitrary<object>;
const root = schema.map((own) => ({
  ...own,
  $defs: {
    Node: {
      type: 'object',
      properties: { next: { $ref: '#/$defs/Node' }, all: { type: 'array', items: { $ref: '#' } } },
    },
  },
}));

describe('a request', () => {
  test('keeps every rule of every server, whatever the thread, the tools and what was learned', () => {
    const tools = fc.array(
      fc.record({
        name: fc.oneof(fc.constantFrom('file_read', 'a.b'), fc.string()),
        description: text,
        parameters: root,
      }),
      {
        maxLength: 4,
      },
    );
    holds(
      fc.property(fc.array(message, { maxLength: 12 }), tools, factsOf, (messages, offered, facts) => {
        const body = written(messages, offered, facts);
        checkRequest(body, { alternate: facts.alternates ?? false });
        // a thread that grows repeats its beginning, so that caches hold
        expect(written(messages, offered, facts)).toBe(body);
      }),
      { runs: 300 },
    );
  });

  test('is sent unchanged where it keeps the rules', () => {
    const messages: ModelMessage[] = [
      { role: 'system', content: 's' },
      { role: 'user', content: 'u' },
      { role: 'assistant', content: '', calls: [{ id: 'call_1', name: 'file_read', arguments: '{"path":"a"}' }] },
      { role: 'tool', callId: 'call_1', content: 'A' },
    ];
    const { messages: sent } = JSON.parse(written(messages));
    const made = sent[2].tool_calls[0].id;
    expect(sent).toEqual([
      ...messages.slice(0, 2),
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: made, type: 'function', function: { name: 'file_read', arguments: '{"path":"a"}' } }],
      },
      { role: 'tool', tool_call_id: made, content: 'A' },
    ]);
  });

  test('keeps its beginning when the thread grows, ids included', () => {
    const step = (n: number): ModelMessage[] => [
      { role: 'assistant', content: '', calls: [{ id: 'call_0', name: 'file_read', arguments: '{}' }] },
      { role: 'tool', callId: 'call_0', content: `result ${n}` },
    ];
    const thread: ModelMessage[] = [{ role: 'user', content: 'u' }, ...step(1)];
    const before = JSON.parse(written(thread)).messages;
    const after = JSON.parse(written([...thread, ...step(2), ...step(3)])).messages;
    expect(after.slice(0, before.length)).toEqual(before);
    expect(
      new Set(
        after
          .filter(({ role }: { role: string }) => role === 'tool')
          .map((each: { tool_call_id: string }) => each.tool_call_id),
      ).size,
    ).toBe(3);
  });

  test('offers every built-in tool in the words that all servers know', () => {
    const tools = [...declarations.values()];
    for (let at = 0; at < tools.length; at += 100)
      checkRequest(written([{ role: 'user', content: 'u' }], tools.slice(at, at + 100)));
  });

  test('gives two long names that differ only at their end two names on the wire', () => {
    const long = 'a_server_with_a_very_long_name/and_a_tool_with_a_name_that_is_as_long_';
    const { tools } = JSON.parse(
      written([{ role: 'user', content: 'u' }], [tool(`${long}1`), tool(`${long}2`), tool('plain')]),
    );
    const names = tools.map((each: { function: { name: string } }) => each.function.name);
    expect(new Set(names).size).toBe(3);
    expect(names[2]).toBe('plain');
  });
});

describe('a schema in the words that all servers know', () => {
  const part = (given: object) =>
    (strictSchema({ type: 'object', properties: { a: given } }).properties as { a: unknown }).a;
  test.each([
    [
      'an open range',
      { type: 'integer', exclusiveMinimum: 0, exclusiveMaximum: 10 },
      { type: 'integer', minimum: 1, maximum: 9 },
    ],
    ['a constant', { const: 'x' }, { type: 'string', enum: ['x'] }],
    [
      'a number that is named',
      { type: 'number', enum: [1, 2], description: 'How many.' },
      { type: 'number', description: 'How many. One of: 1, 2.' },
    ],
    ['a text or null', { type: ['string', 'null'] }, { type: 'string', description: 'May be null.' }],
    [
      'one alternative beside null',
      { anyOf: [{ type: 'integer' }, { type: 'null' }] },
      { type: 'integer', description: 'May be null.' },
    ],
    [
      'two types',
      { type: ['string', 'number'], description: 'd' },
      { description: 'd', anyOf: [{ type: 'string' }, { type: 'number' }] },
    ],
    [
      'alternatives',
      { oneOf: [{ type: 'string' }, { type: 'boolean' }] },
      { anyOf: [{ type: 'string' }, { type: 'boolean' }] },
    ],
    ['an array of anything', { type: 'array' }, { type: 'array', items: { type: 'string' } }],
    [
      'a pair',
      { type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }] },
      { type: 'array', items: { anyOf: [{ type: 'string' }, { type: 'number' }] } },
    ],
    ['an address', { type: 'string', format: 'uri', minLength: 1 }, { type: 'string', minLength: 1 }],
    [
      'words and nothing else',
      { type: 'string', pattern: '^[a-z]+$', $comment: 'c' },
      { type: 'string', pattern: '^[a-z]+$' },
    ],
    [
      'a map',
      { type: 'object', additionalProperties: { type: 'string' }, propertyNames: { pattern: 'x' } },
      { type: 'object' },
    ],
  ])('is %s', (_, given, wanted) => {
    expect(part(given)).toEqual(wanted);
  });

  test('has what it refers to in its place, and ends where it refers to itself', () => {
    const node = {
      type: 'object',
      properties: { name: { type: 'string' }, next: { $ref: '#/$defs/Node' } },
      required: ['name'],
    };
    const { properties } = strictSchema({
      $schema: 'x',
      type: 'object',
      properties: { first: { $ref: '#/$defs/Node' } },
      $defs: { Node: node },
    });
    expect(properties).toEqual({
      first: { type: 'object', properties: { name: { type: 'string' }, next: {} }, required: ['name'] },
    });
  });

  test('has the members of all alternatives at its top', () => {
    const of = (name: string) => ({
      type: 'object',
      properties: { kind: { const: name }, [name]: { type: 'string' } },
      required: ['kind', name],
    });
    expect(strictSchema({ anyOf: [of('a'), of('b')] })).toEqual({
      type: 'object',
      properties: { kind: { type: 'string', enum: ['a', 'b'] }, a: { type: 'string' }, b: { type: 'string' } },
      required: ['kind'],
    });
  });

  test('of a hostile server takes no more room than a request has', () => {
    const defs = Object.fromEntries(
      Array.from({ length: 12 }, (_, n) => [
        `n${n}`,
        {
          type: 'object',
          properties: Object.fromEntries(
            Array.from({ length: 8 }, (__, at) => [`p${at}`, { $ref: `#/$defs/n${n + 1}` }]),
          ),
        },
      ]),
    );
    expect(
      JSON.stringify(strictSchema({ type: 'object', properties: { a: { $ref: '#/$defs/n0' } }, $defs: defs })).length,
    ).toBeLessThan(200_000);
  });
});
