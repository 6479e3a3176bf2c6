import { inline } from '../text/foreign-text.ts';

/**
 * Makes the JSON Schema of a foreign tool fit to be sent to a model and to check arguments with: only words that are
 * known here, bounded in size and depth, with its references put in. Patterns are left out, because a hostile one can
 * take minutes.
 */

const DEEPEST = 8;
const MOST_NODES = 300;
const MOST_OPTIONS = 100;
export const LONGEST_SCHEMA = 8_000;
const LONGEST_NOTE = 300;
const PROPERTY = /^[a-zA-Z0-9_.$-]{1,64}$/;
const FORBIDDEN = new Set(['__proto__', 'constructor', 'prototype']);
const TYPES = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null']);
const LIMITS = ['minimum', 'maximum', 'minLength', 'maxLength', 'minItems', 'maxItems'] as const;

type Json = Record<string, unknown>;

/** A declaration cannot be used; `message` says why. */
export class RefusedDeclaration extends Error {
  override readonly name = 'RefusedDeclaration';
}

/** The schema of the arguments. @throws RefusedDeclaration */
export function plainSchema(raw: unknown): Json {
  const reader = new SchemaReader(raw);
  const { anyOf: _, ...schema } = reader.read(raw, 0, []);
  if (schema.type !== 'object') throw new RefusedDeclaration('Its arguments are not an object.');
  const plain = { ...schema, properties: schema.properties ?? {} };
  const size = JSON.stringify(plain).length;
  if (size > LONGEST_SCHEMA)
    throw new RefusedDeclaration(
      `The description of its arguments has ${size} characters; ${LONGEST_SCHEMA} is the most.`,
    );
  return plain;
}

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

class SchemaReader {
  private readonly root: unknown;
  private nodes = 0;

  constructor(root: unknown) {
    this.root = root;
  }

  /** `within`: the references that this one is inside of */
  read(raw: unknown, depth: number, within: readonly string[]): Json {
    this.nodes += 1;
    if (this.nodes > MOST_NODES) throw new RefusedDeclaration('The description of its arguments has too many parts.');
    if (depth > DEEPEST) throw new RefusedDeclaration('The description of its arguments is too deep.');
    if (raw === true) return {};
    if (!isObject(raw)) throw new RefusedDeclaration('The description of its arguments is no JSON Schema.');
    if (typeof raw.$ref === 'string') return this.referred(raw.$ref, depth, within);
    const schema: Json = {};
    const type = typesOf(raw.type);
    if (type !== undefined) schema.type = type;
    if (typeof raw.description === 'string' && raw.description.trim())
      schema.description = inline(raw.description, LONGEST_NOTE);
    for (const limit of LIMITS) if (Number.isFinite(raw[limit])) schema[limit] = raw[limit];
    if (Array.isArray(raw.enum)) schema.enum = optionsOf(raw.enum);
    if (raw.const !== undefined) schema.enum = optionsOf([raw.const]);
    if (raw.items !== undefined && !Array.isArray(raw.items)) schema.items = this.read(raw.items, depth + 1, within);
    const either = Array.isArray(raw.anyOf) ? raw.anyOf : Array.isArray(raw.oneOf) ? raw.oneOf : null;
    if (either && either.length > 0) schema.anyOf = either.slice(0, 20).map((one) => this.read(one, depth + 1, within));
    if (isObject(raw.properties)) this.readProperties(raw, raw.properties, schema, depth, within);
    if (raw.additionalProperties === false) schema.additionalProperties = false;
    else if (isObject(raw.additionalProperties))
      schema.additionalProperties = this.read(raw.additionalProperties, depth + 1, within);
    return schema;
  }

  private readProperties(raw: Json, properties: Json, schema: Json, depth: number, within: readonly string[]): void {
    const names = Object.keys(properties);
    const wrong = names.find((name) => !PROPERTY.test(name) || FORBIDDEN.has(name));
    if (wrong !== undefined) throw new RefusedDeclaration(`"${inline(wrong, 60)}" cannot be the name of an argument.`);
    schema.type ??= 'object';
    schema.properties = Object.fromEntries(names.map((name) => [name, this.read(properties[name], depth + 1, within)]));
    const required = Array.isArray(raw.required)
      ? raw.required.filter((name): name is string => typeof name === 'string' && names.includes(name))
      : [];
    if (required.length > 0) schema.required = [...new Set(required)];
  }

  /** Only references inside of the schema are followed. One that leads back to itself could never be put in. */
  private referred(reference: string, depth: number, within: readonly string[]): Json {
    const [, place, name] = /^#\/(\$defs|definitions)\/([^/]{1,100})$/.exec(reference) ?? [];
    const target =
      place && isObject(this.root) && isObject(this.root[place]) ? (this.root[place] as Json)[name!] : undefined;
    if (target === undefined) throw new RefusedDeclaration(`Its reference "${inline(reference, 80)}" leads nowhere.`);
    // a value that may contain itself, such as a tree: what is inside is for the server to check
    return within.includes(reference) ? {} : this.read(target, depth + 1, [...within, reference]);
  }
}

function typesOf(raw: unknown): unknown {
  const listed = (Array.isArray(raw) ? raw : [raw]).filter((type) => TYPES.has(type as string));
  return listed.length > 1 ? listed : listed[0];
}

function optionsOf(raw: readonly unknown[]): unknown[] {
  const options = raw.filter((each) => each === null || ['string', 'number', 'boolean'].includes(typeof each));
  if (options.length > MOST_OPTIONS)
    throw new RefusedDeclaration(`One of its arguments has ${options.length} options; ${MOST_OPTIONS} is the most.`);
  return options.map((each) => (typeof each === 'string' ? each.slice(0, 200).toWellFormed() : each));
}
