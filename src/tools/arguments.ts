import { z } from 'zod';
import { lenientJson, NotJson } from '../domain/text/lenient-json.ts';

/** Reads the arguments of a call as models write them, and mends what can mean only one thing. */

/** A list in place of an object is refused by the schema, in its own words. */
type ReadArguments = { ok: true; value: unknown } | { ok: false; why: string };

const FENCE = '```';
/** JSON inside of a JSON text, in another one. */
const MOST_WRAPPINGS = 3;

/** The JSON value of arguments; nothing at all is an empty object. `why` completes "The arguments …". */
export function readArguments(raw: string): ReadArguments {
  let text = raw.replace(/^\uFEFF/, '').trim();
  if (text.startsWith(FENCE) && text.endsWith(FENCE))
    text = text.slice(FENCE.length, -FENCE.length).replace(/^\w+/, '').trim();
  if (text === '') return { ok: true, value: {} };
  try {
    let value = firstValue(text);
    for (let n = 0; n < MOST_WRAPPINGS && typeof value === 'string' && /^\s*[{"]/.test(value); n++)
      value = firstValue(value.trim());
    return { ok: true, value };
  } catch (error) {
    if (!(error instanceof NotJson)) throw error;
    return { ok: false, why: error.message };
  }
}

function firstValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    const { value, end } = lenientJson(text);
    const rest = text.slice(end);
    if (rest === '' || (isObject(value) && NOTHING.test(rest))) return value;
    // a server that begins with an empty object, and then sends the whole one
    if (isObject(value) && Object.keys(value).length === 0 && rest.startsWith('{')) {
      const next = firstValue(rest);
      if (isObject(next) && Object.keys(next).length > 0) return next;
    }
    throw new NotJson(
      /^[{[]/.test(rest)
        ? 'they are several JSON values, one behind the other: make one call for each'
        : 'there is more behind the JSON object',
    );
  }
}

/** Brackets too many, and tokens of a chat template that a server has left behind the arguments. */
const NOTHING = /^(?:[\s\]}]|<\|[^<>|]{1,40}\|>|<\/[\w.-]{1,40}>)+$/;

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Each round may uncover more. */
const MOST_ROUNDS = 10;

/** The value as the schema wants it, with the remaining errors where it cannot be mended. */
export function parseMended(schema: z.ZodType, raw: unknown): z.ZodSafeParseResult<unknown> {
  let value = raw;
  let parsed = schema.safeParse(value);
  for (let round = 0; round < MOST_ROUNDS && !parsed.success; round++) {
    const next = structuredClone(value);
    if (!mendAll(next, parsed.error.issues, [], schema)) break;
    value = next;
    parsed = schema.safeParse(value);
  }
  return parsed;
}

type Issue = z.core.$ZodIssue;
type Path = readonly PropertyKey[];

/** Changes `root` where an issue has one obvious remedy. Whether there was one. */
function mendAll(root: unknown, issues: readonly Issue[], base: Path, schema: z.ZodType): boolean {
  let mended = false;
  for (const issue of issues) {
    const path = [...base, ...issue.path];
    const done =
      issue.code === 'invalid_union' ? mendUnion(root, issue.errors, path, schema) : mendOne(root, issue, path, schema);
    mended = done || mended;
  }
  return mended;
}

const mendUnion = (root: unknown, branches: ReadonlyArray<readonly Issue[]>, path: Path, schema: z.ZodType): boolean =>
  branches.some((issues) => mendAll(root, issues, path, schema));

function mendOne(root: unknown, issue: Issue, path: Path, schema: z.ZodType): boolean {
  const name = path.at(-1);
  const parent = path
    .slice(0, -1)
    .reduce<unknown>((at, key) => (typeof at === 'object' && at !== null ? Reflect.get(at, key) : undefined), root);
  if (name === undefined || typeof parent !== 'object' || parent === null || !Object.hasOwn(parent, name)) return false;
  const given: unknown = Reflect.get(parent, name);
  if (given === null && !Array.isArray(parent)) return Reflect.deleteProperty(parent, name);
  const meant = meantBy(given, issue, () => takesLongText(schema, path));
  return meant !== undefined && Reflect.set(parent, name, meant);
}

/** What was meant where a value of another type is wanted; undefined when that is not sure. */
function meantBy(given: unknown, issue: Issue, isLong: () => boolean): unknown {
  if (issue.code === 'invalid_value')
    return typeof given === 'string'
      ? issue.values.find((value) => typeof value !== 'string' && `${String(value)}` === given.trim().toLowerCase())
      : undefined;
  if (issue.code !== 'invalid_type') return undefined;
  const { expected } = issue;
  if (expected === 'string')
    return isObject(given) && Object.keys(given).length > 0 && isLong() ? JSON.stringify(given, null, 2) : undefined;
  if (typeof given !== 'string') return undefined;
  const text = given.trim();
  if (expected === 'number' || expected === 'int')
    return /^-?\d{1,15}(\.\d{1,15})?$/.test(text) ? Number(text) : undefined;
  if (expected === 'boolean') return { true: true, false: false }[text.toLowerCase()];
  if (expected !== 'array' && expected !== 'object' && expected !== 'record') return undefined;
  const read = text === '' ? null : readArguments(text);
  if (!read?.ok) return undefined;
  return (expected === 'array' ? Array.isArray(read.value) : isObject(read.value)) ? read.value : undefined;
}

/** Shorter fields are names, paths and words. */
const LONG_TEXT = 10_000;

/** Whether a field may hold a whole document, so that an object in its place is meant as JSON. */
function takesLongText(schema: z.ZodType, path: Path): boolean {
  if (path.length !== 1) return false;
  const { properties } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  const field = properties?.[String(path[0])];
  return typeof field === 'object' && field.type === 'string' && (field.maxLength ?? LONG_TEXT) >= LONG_TEXT;
}
