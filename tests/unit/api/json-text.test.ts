import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type JsonNode, readJson } from '../../../src/api/errors/json-text.ts';
import { holds } from '../../support/property.ts';

const read = (text: string): JsonNode | null => {
  try {
    return readJson(Buffer.from(text));
  } catch {
    return null;
  }
};
const parses = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

/** Every value that is kept, with the text that it claims to stand in. */
function* texts(node: JsonNode, bytes: Buffer): Generator<{ kind: JsonNode['kind']; text: string }> {
  yield { kind: node.kind, text: bytes.toString('utf8', node.start, node.end) };
  for (const inner of [...(node.items ?? []), ...(node.fields ?? []).map((field) => field.node)])
    yield* texts(inner, bytes);
}

const kindOf = (value: unknown): JsonNode['kind'] =>
  value === null
    ? 'null'
    : Array.isArray(value)
      ? 'array'
      : (typeof value as 'boolean' | 'number' | 'string' | 'object');

describe('reading where JSON stands', () => {
  const token = fc.constantFrom(
    ...'{}[],:"\\ \n0-1.eE+x',
    '"a"',
    '"k":',
    '\\u00e9',
    '\\n',
    'null',
    'nul',
    'true',
    'false',
    'é',
    '😀',
    '\u0000',
    '12.5e+3',
    '00',
  );
  const broken = fc.tuple(fc.json(), fc.nat()).map(([text, at]) => text.slice(0, at % (text.length + 1)));

  it('takes what is JSON and refuses what is not', () =>
    holds(
      fc.property(
        fc.oneof(
          fc.array(token, { maxLength: 14 }).map((tokens) => tokens.join('')),
          fc.json(),
          broken,
        ),
        (text) => {
          expect(read(text) !== null).toBe(parses(text));
        },
      ),
      { runs: 5_000 },
    ));

  it('says of each value where it begins and ends', () =>
    holds(
      fc.property(fc.json({ maxDepth: 3 }), (text) => {
        const bytes = Buffer.from(text);
        for (const { kind, text: own } of texts(readJson(bytes), bytes)) expect(kindOf(JSON.parse(own))).toBe(kind);
      }),
      { runs: 1_000 },
    ));

  it('keeps little of a text that is made of many values, and counts them', () => {
    const node = readJson(Buffer.from(`[${'0,'.repeat(500_000)}0]`));
    expect([node.length, node.items!.length]).toEqual([500_001, 1000]);
  });
});
