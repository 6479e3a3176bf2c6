import type { z } from 'zod';
import { type JsonNode, joinPath } from './json-text.ts';

/** Where a body has the wrong shape, in the words of serde, which clients know. */
interface Misfit {
  path: string;
  what: string;
  at: number;
}

/** The first misfit: a reader that goes from front to back reports no other. */
export function firstMisfit(
  root: JsonNode,
  body: unknown,
  schema: z.ZodObject,
  issues: readonly z.core.$ZodIssue[],
): Misfit | undefined {
  const misfits = [...repeatedFields(root, schema), ...issues.map((issue) => misfit(root, body, issue, schema))];
  return misfits.sort((a, b) => a.at - b.at)[0];
}

function* repeatedFields(root: JsonNode, schema: z.ZodObject): Generator<Misfit> {
  const known = new Set<string>();
  for (const { key, keyEnd } of root.fields ?? []) {
    if (!Object.hasOwn(schema.shape, key)) continue;
    if (known.has(key)) yield { path: '', what: `duplicate field \`${key}\``, at: keyEnd };
    known.add(key);
  }
}

/** The name of a body in error texts: the id of its schema. */
const nameOf = (schema: z.ZodObject): string => String(schema.meta()?.id ?? 'Body');

function misfit(root: JsonNode, body: unknown, issue: z.core.$ZodIssue, schema: z.ZodObject): Misfit {
  let node = root;
  let value = body;
  let path = '';
  for (const segment of issue.path) {
    const inner =
      typeof segment === 'number' ? node.items?.[segment] : node.fields?.findLast(({ key }) => key === segment)?.node;
    // a missing field is noticed at the end of its object
    if (!inner) return { path, what: `missing field \`${String(segment)}\``, at: node.end };
    node = inner;
    value = (value as Record<string | number, unknown>)[segment as string | number];
    path = joinPath(path, segment as string | number);
  }
  const fields = Object.keys(schema.shape).length;
  if (node === root && node.kind === 'array') {
    return {
      path,
      what: `invalid length ${node.length}, expected struct ${nameOf(schema)} with ${fields} element${fields === 1 ? '' : 's'}`,
      at: node.end,
    };
  }
  if (issue.code !== 'invalid_type') return { path, what: issue.message, at: node.end };
  // containers are refused at their first byte, scalars after their last
  const at = node.kind === 'array' || node.kind === 'object' ? node.start : node.end;
  return {
    path,
    what: `invalid type: ${found(node, value)}, expected ${expected(issue.expected, node === root ? nameOf(schema) : '')}`,
    at,
  };
}

function found(node: JsonNode, value: unknown): string {
  switch (node.kind) {
    case 'string':
      return `string ${JSON.stringify(value)}`;
    case 'number':
      return Number.isInteger(value) ? `integer \`${String(value)}\`` : `floating point \`${String(value)}\``;
    case 'boolean':
      return `boolean \`${String(value)}\``;
    case 'array':
      return 'sequence';
    case 'object':
      return 'map';
    default:
      return 'null';
  }
}

function expected(type: string, name: string): string {
  switch (type) {
    case 'object':
      return name ? `struct ${name}` : 'an object';
    case 'array':
      return 'a sequence';
    default:
      return `a ${type}`;
  }
}
