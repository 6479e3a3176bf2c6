/** JSON Schema, as a tool brings it along: any keyword, any value. */
type Schema = Record<string, unknown>;

/**
 * Keywords that every server takes (Gemini's are the fewest: ai.google.dev/api/caching#Schema). They are kept as they
 * are; others are rewritten or left out.
 */
const PLAIN = [
  'description',
  'minimum',
  'maximum',
  'minItems',
  'maxItems',
  'minLength',
  'maxLength',
  'default',
] as const;
/**
 * Servers that make grammars of schemas take patterns only between `^` and `$` (llama.cpp), and none with groups that
 * look ahead or behind.
 */
const SIMPLE_PATTERN = /^\^(?!.*\(\?)(?!.*\\[pPbBux]).*\$$/;
/** The only formats of a text that Gemini takes. */
const FORMATS = ['date-time', 'enum'];
/**
 * Schemas that one tool may have, each reference counted where it is used. A hostile one could name more than fit into
 * a memory.
 */
const MOST_PARTS = 2_000;

const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const schemas = (value: unknown): Schema[] => (Array.isArray(value) ? value.filter(isSchema) : []);

/**
 * The schema of a tool's arguments without keywords that strict servers refuse. It admits at least what the given one
 * does: the tool checks its arguments itself.
 * `omit`: further keywords to leave out.
 */
export function strictSchema(schema: object, omit: readonly string[] = []): Schema {
  const root = schema as Schema;
  const whole = withAlternatives(flattened(root, { root, omit, open: [], left: { parts: MOST_PARTS } }));
  const { properties, required, description } = written({ ...whole.schema, type: 'object' }, whole.place);
  return {
    type: 'object',
    ...(description !== undefined && { description }),
    properties: properties ?? {},
    ...(required !== undefined && { required }),
  };
}

interface Place {
  root: Schema;
  omit: readonly string[];
  /** references on the way here; one of them again has no end */
  open: readonly string[];
  left: { parts: number };
}
interface Flat {
  schema: Schema;
  place: Place;
}

function written(given: Schema, at: Place): Schema {
  if (at.left.parts-- <= 0) return {};
  const { schema, place } = flattened(given, at);
  const out: Schema = {};
  const { type, nullable } = typeOf(schema);
  if (type !== undefined) out.type = type;
  for (const name of PLAIN) if (schema[name] !== undefined) out[name] = schema[name];
  limits(schema, type, out);
  if (FORMATS.includes(String(schema.format))) out.format = schema.format;
  if (typeof schema.pattern === 'string' && SIMPLE_PATTERN.test(schema.pattern)) out.pattern = schema.pattern;
  const values = Array.isArray(schema.enum) ? schema.enum : schema.const !== undefined ? [schema.const] : [];
  const words = values.filter((value) => typeof value === 'string');
  if (words.length > 0 && words.length === values.filter((value) => value !== null).length)
    Object.assign(out, { type: 'string', enum: words });
  else if (values.length > 0) say(out, `One of: ${values.map((value) => JSON.stringify(value)).join(', ')}.`);
  if (nullable || (values.includes(null) && words.length > 0)) say(out, 'May be null.');
  if (out.type === undefined) {
    const options = optionsOf(schema).map((option) => written(option, place));
    if (options.length > 0) out.anyOf = options;
  }
  if (out.type === 'object') Object.assign(out, membersOf(schema, place));
  if (out.type === 'array') out.items = itemsOf(schema, place);
  for (const name of place.omit) delete out[name];
  return out;
}

/** The same schema with what it refers to, with all parts of `allOf`, and with its only alternative. */
function flattened(given: Schema, place: Place): Flat {
  const { $ref, allOf, ...own } = given;
  const named = typeof $ref === 'string' ? $ref : null;
  const inside = named === null ? place : { ...place, open: [...place.open, named] };
  const parts = [
    ...(named === null || place.open.includes(named) ? [] : [target(named, place.root)]),
    ...schemas(allOf),
  ];
  const flat = parts.reduce<Flat>(
    (sum, part) => {
      if (place.left.parts-- <= 0) return sum;
      const inner = flattened(part, { ...inside, open: sum.place.open });
      return { schema: merged(sum.schema, inner.schema), place: inner.place };
    },
    { schema: own, place: inside },
  );
  const options = optionsOf(flat.schema);
  if (flat.schema.type !== undefined || options.length !== 1 || place.left.parts-- <= 0) return flat;
  const { anyOf: _, oneOf: __, ...rest } = flat.schema;
  const only = flattened(options[0]!, flat.place);
  return {
    schema: { ...merged(rest, only.schema), ...(typeOf(flat.schema).nullable && { nullable: true }) },
    place: only.place,
  };
}

/** An object with the members of all its alternatives. Servers refuse alternatives at the top. */
function withAlternatives({ schema, place }: Flat): Flat {
  const options = optionsOf(schema).map((option) => flattened(option, place));
  if (options.length === 0) return { schema, place };
  const properties = [...options.map((option) => option.schema.properties), schema.properties].reduce<Schema>(
    membersOfBoth,
    {},
  );
  const required = names(options[0]!.schema.required).filter((name) =>
    options.every((option) => names(option.schema.required).includes(name)),
  );
  const open = [...new Set(options.flatMap((option) => option.place.open))];
  return {
    schema: { ...schema, properties, required: [...names(schema.required), ...required] },
    place: { ...place, open },
  };
}

/**
 * A member that differs from one alternative to the next may be any of them; words, as of a discriminator, are one
 * list.
 */
function membersOfBoth(sum: Schema, more: unknown): Schema {
  const out = { ...sum };
  for (const [name, part] of Object.entries(isSchema(more) ? more : {})) {
    const before = out[name];
    const [words, others] = [wordsOf(before), wordsOf(part)];
    if (before === undefined || JSON.stringify(before) === JSON.stringify(part)) out[name] = part;
    else if (words && others)
      out[name] = { ...(before as Schema), const: undefined, enum: [...new Set([...words, ...others])] };
    else out[name] = { anyOf: [before, part] };
  }
  return out;
}

function wordsOf(part: unknown): string[] | null {
  const values = isSchema(part) ? (Array.isArray(part.enum) ? part.enum : [part.const]) : [];
  return values.length > 0 && values.every((value) => typeof value === 'string') ? values : null;
}

const names = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((name) => typeof name === 'string') : [];

function merged(a: Schema, b: Schema): Schema {
  const both = { ...b, ...a };
  if (isSchema(a.properties) || isSchema(b.properties))
    both.properties = { ...(b.properties as Schema), ...(a.properties as Schema) };
  if (a.required || b.required) both.required = [...new Set([...names(a.required), ...names(b.required)])];
  return both;
}

/** `#/$defs/Item`; an address elsewhere is not followed. */
function target(reference: string, root: Schema): Schema {
  if (!reference.startsWith('#')) return {};
  const path = reference.slice(1).split('/').filter(Boolean);
  const found = path.reduce<unknown>(
    (at, name) => (isSchema(at) ? at[decodeURIComponent(name).replaceAll('~1', '/').replaceAll('~0', '~')] : undefined),
    root,
  );
  return isSchema(found) ? found : {};
}

/** What is said of a value of several types once for all of them. */
const ONCE = { description: undefined, default: undefined, enum: undefined, anyOf: undefined, oneOf: undefined };

const isNull = (option: Schema): boolean => option.type === 'null' || option.const === null;

const alternatives = (schema: Schema): Schema[] => [...schemas(schema.anyOf), ...schemas(schema.oneOf)];

/** What a value may be, one by one; without null. */
const optionsOf = (schema: Schema): Schema[] => {
  const types = Array.isArray(schema.type) ? schema.type.filter((type) => type !== 'null') : [];
  if (types.length > 1) return types.map((type) => ({ ...schema, type, ...ONCE }));
  return alternatives(schema).filter((option) => !isNull(option));
};

/** One type, or none where there are alternatives. */
function typeOf(schema: Schema): { type?: string | undefined; nullable: boolean } {
  const given = [schema.type].flat().filter((type) => typeof type === 'string');
  const types = given.filter((type) => type !== 'null');
  const nullable =
    schema.nullable === true || (given.includes('null') && types.length > 0) || alternatives(schema).some(isNull);
  if (types.length === 1) return { type: types[0], nullable };
  if (types.length > 1 || optionsOf(schema).length > 0) return { nullable };
  if (
    isSchema(schema.properties) ||
    schema.additionalProperties !== undefined ||
    schema.patternProperties !== undefined
  )
    return { type: 'object', nullable };
  if (schema.items !== undefined || schema.prefixItems !== undefined) return { type: 'array', nullable };
  return { nullable };
}

/** Open ends of ranges become closed ones. */
function limits(schema: Schema, type: string | undefined, out: Schema): void {
  const step = type === 'integer' ? 1 : 0;
  if (typeof schema.exclusiveMinimum === 'number') out.minimum ??= schema.exclusiveMinimum + step;
  if (typeof schema.exclusiveMaximum === 'number') out.maximum ??= schema.exclusiveMaximum - step;
  if (out.minimum === Number.MIN_SAFE_INTEGER) delete out.minimum;
  if (out.maximum === Number.MAX_SAFE_INTEGER) delete out.maximum;
}

function say(out: Schema, sentence: string): void {
  out.description =
    typeof out.description === 'string' && out.description !== '' ? `${out.description} ${sentence}` : sentence;
}

function membersOf(schema: Schema, place: Place): Schema {
  const known = Object.entries(isSchema(schema.properties) ? schema.properties : {});
  if (known.length === 0) return {};
  const properties = Object.fromEntries(
    known.map(([name, part]) => [name, written(isSchema(part) ? part : {}, place)]),
  );
  const required = names(schema.required).filter((name) => Object.hasOwn(properties, name));
  return { properties, ...(required.length > 0 && { required: [...new Set(required)] }) };
}

/** The type of what an array holds: some servers refuse an array without one. */
function itemsOf(schema: Schema, place: Place): Schema {
  const listed = [...schemas(schema.prefixItems), ...schemas(schema.items)].map((part) => written(part, place));
  const different = [...new Map(listed.map((part) => [JSON.stringify(part), part])).values()];
  if (different.length > 1) return { anyOf: different };
  const one = different[0] ?? (isSchema(schema.items) ? written(schema.items, place) : {});
  return Object.keys(one).length > 0 ? one : { type: 'string' };
}
