/** What was read of a JSON text, with the place of each value. */
export type JsonKind = 'null' | 'boolean' | 'number' | 'string' | 'array' | 'object';
export interface JsonNode {
  kind: JsonKind;
  /** byte offsets: of the first byte, and behind the last one */
  start: number;
  end: number;
  /** length of an array; `items` holds only its first elements */
  length?: number;
  items?: JsonNode[];
  /** in order; a repeated key is listed again */
  fields?: Array<{ key: string; keyEnd: number; node: JsonNode }>;
}

/** `at` counts bytes: how much was read when the error was found. */
export class JsonSyntaxError extends Error {
  readonly path: string;
  readonly at: number;
  constructor(path: string, what: string, at: number) {
    super(what);
    this.path = path;
    this.at = at;
  }
}

/** `line 1 column 5`: lines from 1, columns count bytes. */
export function position(bytes: Buffer, at: number): string {
  const before = bytes.subarray(0, at);
  let line = 1;
  for (const byte of before) if (byte === 10) line += 1;
  return `line ${line} column ${at - (before.lastIndexOf(10) + 1)}`;
}

/** `answers[0].id` */
export const joinPath = (path: string, segment: string | number): string =>
  typeof segment === 'number' ? `${path}[${segment}]` : path ? `${path}.${segment}` : segment;
