import { proto } from '@whiskeysockets/baileys';
import { type Random, seeded } from '../../chaos/random.ts';

/** Messages of every kind with anything in their fields, as a client could send that is not WhatsApp's own. */

interface Field {
  name: string;
  list: boolean;
  /** a method of the reader, or the path of another message */
  type: string;
}

/** `proto.Message.ImageMessage` and the like, by path. */
const classOf = (path: string): { decode(bytes: Uint8Array): unknown } =>
  path
    .split('.')
    .slice(1)
    .reduce((at, name) => (at as Record<string, never>)[name]!, proto as unknown) as never;

const known = new Map<string, Field[]>();
/** The library's own reader tells the fields of a message. */
function fieldsOf(path: string): Field[] {
  const before = known.get(path);
  if (before) return before;
  const source = classOf(path).decode.toString();
  const fields = [...source.matchAll(/m\.(\w+)(?: = |(\.push)\()(?:r\.(\w+)\(\)|\$root\.([\w.]+)\.decode\()/g)].map(
    ([, name, list, scalar, message]) => ({ name: name!, list: list !== undefined, type: scalar ?? message! }),
  );
  known.set(path, fields);
  return fields;
}

const IDS = ['T1', '', 'me/1', '3A01', '__proto__'];
const JIDS = [
  '900002@lid',
  '15550002222@s.whatsapp.net',
  '900002:3@lid',
  '@lid',
  '1@g.us',
  'status@broadcast',
  'x',
  '',
];
const TEXTS = ['yes', '\0', '\ud83d', '@fetch hi', '\u202e/etc', 'x'.repeat(3_000), 'BEGIN:VCARD\nTEL:\nTEL;:1\n'];

function scalarOf(random: Random, { name, type }: Field): unknown {
  if (type === 'string')
    return random.pick(/id$/i.test(name) ? IDS : /jid|participant/i.test(name) ? JIDS : [...TEXTS, ...JIDS]);
  if (type === 'bytes') return Buffer.alloc(random.pick([0, 1, 12, 16, 17, 32, 500]), random.between(0, 255));
  if (type === 'bool') return random.next() < 0.5;
  if (type === 'float' || type === 'double')
    return random.pick([Number.NaN, Number.POSITIVE_INFINITY, -1e300, 0, 52.5]);
  if (type === 'int32' || type === 'sfixed32') return random.pick([-(2 ** 31), -1, 0, 1, 2, 3, 14, 16, 2 ** 31 - 1]);
  return random.pick([0, 1, 2, 14, 1_000, 2 ** 31, 2 ** 32 - 1]);
}

function fieldValue(random: Random, field: Field, depth: number): unknown {
  const one = () => (field.type.includes('.') ? messageOf(random, field.type, depth - 1) : scalarOf(random, field));
  return field.list ? Array.from({ length: random.pick([0, 1, 2, 40]) }, one) : one();
}

function messageOf(random: Random, path: string, depth: number): Record<string, unknown> {
  const fields = fieldsOf(path);
  if (depth <= 0 || fields.length === 0) return {};
  const chosen = new Set(Array.from({ length: random.between(0, 4) }, () => random.pick(fields)));
  return Object.fromEntries([...chosen].map((field) => [field.name, fieldValue(random, field, depth)]));
}

/** How many kinds of messages there are. */
export const kindsOfMessages = (): number => fieldsOf('proto.Message').length;

/** A message of the kind with this number, its bytes made by a seed; `around`: other kinds beside and around it. */
export function anyMessage(kind: number, seed: number): Buffer {
  const random = seeded(seed);
  const field = fieldsOf('proto.Message')[kind]!;
  let message = { [field.name]: fieldValue(random, field, 6) };
  const wrappers = fieldsOf('proto.Message').filter(({ type }) => type === 'proto.Message.FutureProofMessage');
  for (let around = random.between(0, 10) - 7; around > 0; around--)
    message = {
      [random.pick(wrappers).name]: { message },
      ...(random.next() < 0.2 && messageOf(random, 'proto.Message', 3)),
    };
  if (random.next() < 0.3) message = { ...messageOf(random, 'proto.Message', 3), ...message };
  return Buffer.from(proto.Message.encode(message).finish());
}
