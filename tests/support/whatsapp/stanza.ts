import { type BinaryNode, jidDecode } from '@whiskeysockets/baileys';

/** Building and reading stanzas (binary nodes), and the two forms of address: phone number and LID. */
export type Stanza = BinaryNode;
type Attribute = string | number | undefined;

export const SERVER = 's.whatsapp.net';

export function el(
  tag: string,
  attrs: Record<string, Attribute> = {},
  content?: Stanza[] | Uint8Array | string,
): Stanza {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(attrs)) if (value !== undefined) kept[name] = String(value);
  return { tag, attrs: kept, content };
}

export const children = (node: Stanza | undefined, tag?: string): Stanza[] =>
  Array.isArray(node?.content) ? node.content.filter((child) => !tag || child.tag === tag) : [];

export const child = (node: Stanza | undefined, ...path: string[]): Stanza | undefined =>
  path.reduce<Stanza | undefined>((at, tag) => children(at, tag)[0], node);

/** The bytes of a leaf; empty when the node is missing or has children. */
export function bytes(node: Stanza | undefined): Buffer {
  if (node?.content instanceof Uint8Array) return Buffer.from(node.content);
  return typeof node?.content === 'string' ? Buffer.from(node.content) : Buffer.alloc(0);
}

/** A big-endian number leaf of up to six bytes. */
export function uint(node: Stanza | undefined): number {
  const value = bytes(node);
  return value.length ? value.readUIntBE(0, value.length) : 0;
}

export function bigEndian(value: number, length: number): Buffer {
  const out = Buffer.alloc(length);
  out.writeUIntBE(value, 0, length);
  return out;
}

export const seconds = (at: number = Date.now()): number => Math.floor(at / 1000);

export const user = (jid: string | undefined): string => jidDecode(jid)?.user ?? '';
export const device = (jid: string | undefined): number => jidDecode(jid)?.device ?? 0;
export const isLid = (jid: string | undefined): boolean => !!jid?.endsWith('@lid');
export const isGroup = (jid: string | undefined): boolean => !!jid?.endsWith('@g.us');
