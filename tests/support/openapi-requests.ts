import fc from 'fast-check';

/** Requests for any API from its OpenAPI document: mostly as it says, and often wrong in one place. */

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export interface Schema {
  $ref?: string;
  type?: string | string[];
  enum?: Json[];
  const?: Json;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  items?: Schema;
  minItems?: number;
  maxItems?: number;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
}
interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  schema: Schema;
}
export interface Operation {
  parameters?: Parameter[];
  requestBody?: { required: boolean; content: Record<string, { schema: Schema }> };
  responses: Record<string, { content?: Record<string, { schema?: Schema }> }>;
  security?: object[];
}
export interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

export interface Asked {
  /** `POST /v1/threads/{id}/turns` */
  operation: string;
  method: string;
  /** with its query, as it goes over the wire */
  path: string;
  headers: Record<string, string>;
  body: string | null;
}

/** @param known values that a parameter of this name may have, such as the id of a thread that is there */
export function requestsOf(
  document: Document,
  headers: Record<string, string>,
  known: (name: string) => readonly string[],
): fc.Arbitrary<Asked>[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) =>
      requestFor(document, { path, method: method.toUpperCase(), operation }, headers, known),
    ),
  );
}

function requestFor(
  document: Document,
  { path, method, operation }: { path: string; method: string; operation: Operation },
  token: Record<string, string>,
  known: (name: string) => readonly string[],
): fc.Arbitrary<Asked> {
  const parameters = operation.parameters ?? [];
  const of = (place: Parameter['in']) => parameters.filter((each) => each.in === place);
  const body = Object.values(operation.requestBody?.content ?? {})[0]?.schema;
  return fc
    .record({
      segments: fc.tuple(...of('path').map(({ name }) => segment(known(name)))),
      query: fc.tuple(
        ...of('query').map(({ name, schema }) => fc.option(queryText(document, schema, known(name)), { freq: 2 })),
      ),
      again: fc.option(fc.nat(9), { freq: 9 }),
      header: fc.tuple(...of('header').map(({ schema }) => fc.option(headerText(schema), { freq: 1 }))),
      headers: often(fc.constant(token), fc.constantFrom(...WRONG_TOKENS)),
      type: often<string, string>(
        fc.constant('application/json'),
        fc.constantFrom('', 'text/plain', 'application/json; charset=utf-16', 'application/x-www-form-urlencoded'),
      ),
      body: body ? bodyText(document, body, known) : fc.constantFrom(null, null, '{}', '{'),
    })
    .map(({ segments, query, again, header, headers, type, body: text }) => {
      const names = of('path').map(({ name }) => name);
      const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => segments[names.indexOf(name)]!);
      const pairs = of('query').flatMap(({ name }, index) =>
        query[index] === null ? [] : [`${name}=${query[index]}`],
      );
      if (again !== null && pairs.length > 0) pairs.push(pairs[again % pairs.length]!);
      const own = of('header').flatMap(
        ({ name }, index): Array<[string, string]> => (header[index] === null ? [] : [[name, header[index]!]]),
      );
      return {
        operation: `${method} ${path}`,
        method,
        path: pairs.length > 0 ? `${filled}?${pairs.join('&')}` : filled,
        headers: {
          ...headers,
          ...Object.fromEntries(own),
          ...(text !== null && type !== '' && { 'Content-Type': type }),
        },
        body: text,
      };
    });
}

/** Three times of four the first one. */
const often = <A, B>(usual: fc.Arbitrary<A>, other: fc.Arbitrary<B>): fc.Arbitrary<A | B> =>
  fc.oneof(
    { weight: 3, arbitrary: usual as fc.Arbitrary<A | B> },
    { weight: 1, arbitrary: other as fc.Arbitrary<A | B> },
  );

const WRONG_TOKENS: Array<Record<string, string>> = [
  {},
  { Authorization: 'Bearer wrong' },
  { Authorization: 'Basic' },
  { Cookie: 'codewhale_runtime_token=1.x' },
];
const NASTY = [
  '%00',
  '..%2Fx',
  '%2e%2e',
  '%ff',
  '%zz',
  '-',
  "';drop%20table%20threads;--",
  '%F0%9F%90%95',
  'x'.repeat(300),
];

const segment = (known: readonly string[]): fc.Arbitrary<string> =>
  known.length > 0
    ? often(fc.constantFrom(...known), fc.constantFrom(...NASTY))
    : fc.oneof(fc.constantFrom(...NASTY), fc.stringMatching(/^[A-Za-z0-9_-]{1,40}$/));

const queryText = (document: Document, schema: Schema, known: readonly string[]): fc.Arbitrary<string> =>
  fc.oneof(
    fromSchema(document, schema).map((value) =>
      // a longer address is refused before an endpoint is found
      encodeURIComponent(wellFormed((typeof value === 'string' ? value : JSON.stringify(value)).slice(0, 2_000))),
    ),
    known.length > 0 ? fc.constantFrom(...known) : fc.constant(''),
    fc.constantFrom(...NASTY, '-1', '1e9', '18446744073709551616', 'true', '2026-01-01T00:00:00Z', '0'),
  );

/** Node refuses to send other characters. */
const headerText = ({ maxLength = 60 }: Schema): fc.Arbitrary<string> =>
  fc.oneof(fc.stringMatching(/^[\x21-\x7e]{1,20}$/), fc.constant('x'.repeat(maxLength + 1)));

const bodyText = (
  document: Document,
  schema: Schema,
  known: (name: string) => readonly string[],
): fc.Arbitrary<string | null> =>
  fc.oneof(
    { weight: 6, arbitrary: fromSchema(document, schema, known).map((value) => JSON.stringify(value)) },
    { weight: 2, arbitrary: misfit(document, schema).map((value) => JSON.stringify(value)) },
    { weight: 1, arbitrary: fc.json() },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        null,
        '',
        '{',
        '[1,',
        '{"a":1}x',
        'null',
        '\u0000',
        '{"__proto__":{"x":1}}',
        `[${'['.repeat(2_000)}`,
      ),
    },
  );

/** An object of the schema in which one field has any value. */
function misfit(document: Document, schema: Schema): fc.Arbitrary<Json> {
  const names = Object.keys(resolved(document, schema).properties ?? { x: {} });
  return fc
    .tuple(fromSchema(document, schema), fc.constantFrom(...names), fc.jsonValue() as fc.Arbitrary<Json>)
    .map(([value, name, other]) => ({ ...(value as object), [name]: other }));
}

function resolved(document: Document, schema: Schema): Schema {
  const name = schema.$ref?.split('/').at(-1);
  return name === undefined ? schema : resolved(document, document.components.schemas[name]!);
}

/** Values of a JSON schema. Patterns and formats are not read, so a value may be refused. */
function fromSchema(
  document: Document,
  given: Schema,
  known: (name: string) => readonly string[] = () => [],
  depth = 0,
): fc.Arbitrary<Json> {
  const schema = resolved(document, given);
  const inner = (each: Schema) => fromSchema(document, each, known, depth + 1);
  if (depth > 6) return fc.constant(null);
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum) return fc.constantFrom(...schema.enum);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return fc.oneof(...choices.map(inner));
  if (schema.allOf) return fc.tuple(...schema.allOf.map(inner)).map((parts) => Object.assign({}, ...parts) as Json);
  const types = Array.isArray(schema.type) ? schema.type : [schema.type];
  return fc.oneof(...types.map((type) => ofType(type, schema)));

  function ofType(
    type: string | undefined,
    { minimum = -1_000, maximum = Number.MAX_SAFE_INTEGER, minLength = 0, maxLength = 2 ** 20, ...rest }: Schema,
  ): fc.Arbitrary<Json> {
    switch (type) {
      case 'null':
        return fc.constant(null);
      case 'boolean':
        return fc.boolean();
      case 'integer': {
        const edges = [minimum, maximum, 2 ** 31 - 1, 2 ** 31, 2 ** 32, Number.MAX_SAFE_INTEGER];
        return fc.oneof(
          fc.integer({
            min: Math.max(minimum, -(2 ** 31)),
            max: Math.max(minimum, Math.min(maximum, 2 ** 31 - 1)),
          }),
          fc.constantFrom(...edges.filter((edge) => edge >= minimum && edge <= maximum)),
        );
      }
      case 'number':
        return fc.double({ min: minimum, max: maximum, noNaN: true });
      case 'string':
        return fc.oneof(
          fc.string({ unit: 'binary', minLength, maxLength: Math.min(maxLength, Math.max(minLength, 60)) }),
          fc.constantFrom('x', 'a b', 'agent', 'day', ...HOSTILE.filter((text) => text.length <= maxLength)),
        );
      case 'array':
        return fc.array(inner(rest.items ?? {}), {
          minLength: rest.minItems ?? 0,
          maxLength: Math.min(rest.maxItems ?? 4, Math.max(rest.minItems ?? 0, 4)),
        });
      case 'object':
        return objectOf(rest);
      default:
        return fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<Json>;
    }
  }

  function objectOf({ properties = {}, required = [] }: Schema): fc.Arbitrary<Json> {
    const fields = Object.entries(properties).map(([name, each]): [string, fc.Arbitrary<Json>] => {
      const values = known(name);
      return [name, values.length > 0 ? often(inner(each), fc.constantFrom(...values)) : inner(each)];
    });
    return fc.record(Object.fromEntries(fields), { requiredKeys: required }) as fc.Arbitrary<Json>;
  }
}

/** Texts that stores, templates and screens have stumbled over. */
const HOSTILE = [
  '\0',
  'a\0b',
  '\ud800',
  'a\udfff',
  '__proto__',
  'constructor',
  '\u202Egpj.exe',
  '\u0000\u0001\u001b[2J',
  '%00',
  '$1',
  'x'.repeat(1_000_000),
];

/** A lone surrogate cannot be encoded. */
const wellFormed = (text: string): string => text.toWellFormed();
