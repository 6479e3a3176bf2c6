import { expect, test } from 'vitest';
import { namesIn, wordsIn } from '../../../src/tools/added-tools.ts';

const schema = {
  type: 'object',
  properties: {
    query: { type: 'string' },
    filter: { type: 'object', properties: { tag: { type: 'string' } } },
    labels: { type: 'object', properties: {}, additionalProperties: { type: 'string' } },
    either: { anyOf: [{ type: 'object', properties: { inner: { type: 'string' } } }] },
  },
};

test('words of others in the arguments of an MCP tool are found as values at any depth', () => {
  expect(
    wordsIn({ query: 'a', filter: { tag: 'b' }, either: [{ inner: 'c' }, 4, true, null] }, namesIn(schema)),
  ).toEqual(['a', 'b', 'c', '4']);
});

test('words of others are found as names that the declaration does not have', () => {
  expect(wordsIn({ labels: { 'sk-secret': 'x' } }, namesIn(schema))).toEqual(['sk-secret', 'x']);
});
