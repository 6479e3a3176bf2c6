import { parseDocument } from 'yaml';
import { inline } from '../text/foreign-text.ts';

/** The block of YAML between two lines of --- at the beginning of a file. */

/** YAML takes more than linear time for some texts, so only a text that people write is parsed. */
const LONGEST = 8_000;

interface FrontMatter {
  /** keys in small letters, and texts */
  fields: Map<string, string>;
  /** the others: lists and maps of texts */
  values: Map<string, unknown>;
  /** what stands below the block */
  rest: string;
}

/** A string is what is wrong with it. */
export function frontMatter(text: string): FrontMatter | string {
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/);
  const end = lines[0]?.trim() === '---' ? lines.findIndex((line, at) => at > 0 && line.trim() === '---') : -1;
  if (end < 0) return 'It must begin with a block between two lines of ---, with a name and a description.';
  const block = lines.slice(1, end).join('\n');
  const rest = lines
    .slice(end + 1)
    .join('\n')
    .trim();
  if (block.length > LONGEST) return `Its first block has ${block.length} characters; ${LONGEST} is the most.`;
  const read = valuesIn(block);
  if (typeof read === 'string') return read;
  const fields = new Map<string, string>();
  const values = new Map<string, unknown>();
  for (const [key, value] of read)
    if (typeof value === 'string') fields.set(key, value.trim());
    else values.set(key, value);
  return { fields, values, rest };
}

/**
 * In the failsafe schema every value is a text, and no tag has a meaning. Aliases, by which a short text becomes a huge
 * value, are refused.
 */
function valuesIn(block: string): Array<[key: string, value: unknown]> | string {
  try {
    const document = parseDocument(block, {
      schema: 'failsafe',
      uniqueKeys: true,
      logLevel: 'silent',
      prettyErrors: false,
    });
    const [error] = document.errors;
    if (error)
      return `Its first block is not valid YAML: ${inline(error.message, 200)}. A text with a colon or a quote needs quotes around it.`;
    const value: unknown = document.toJS({ mapAsMap: true, maxAliasCount: 0 });
    if (!(value instanceof Map)) return 'Its first block must be lines such as "name: release".';
    return [...value].flatMap(([key, inner]) =>
      typeof key === 'string' ? [[key.trim().toLowerCase(), inner] as [string, unknown]] : [],
    );
  } catch (error) {
    return `Its first block is not valid YAML: ${inline((error as Error).message, 200)}.`;
  }
}
