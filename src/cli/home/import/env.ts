import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'dotenv';
import { keepSettings } from '../../../adapters/env-file.ts';
import { settings } from '../../../config.ts';
import { isOriginalName, ORIGINAL_NAMES } from '../../../domain/settings/original-names.ts';
import { type Found, nothing, type Part, textOf } from './files.ts';

/** Settings of the original keep their names. What is set here stays. */

/** Where this installation is and what it uses: never taken from another one. */
const OWN = /^(?:FETCH_HOME|DATABASE_URL|TEMPORAL_|WA_|FETCH_(?:TEMPORAL|POSTGRES)_)/;

/** `unset`: what settings are that the file does not have. */
export function readSettings(
  { root, home }: { root: string; home: string },
  names: Names = {},
  unset: Record<string, string> = {},
): Part {
  const part = nothing();
  const file = join(root, '.env');
  const text = textOf(file, part.problems);
  const given = Object.entries(parse(text ?? '')).filter(([, value]) => value.trim() !== '');
  const values = Object.entries({ ...unset, ...Object.fromEntries(given) });
  const own = valuesIn(home);
  for (const [written, raw] of values) {
    const other = Object.hasOwn(names, written) ? names[written]! : null;
    const [name, value] = other ? [other.is, other.read(raw)] : [written, raw];
    const what = `setting ${other ? `${name} (${written})` : name}`;
    const why = whyNot(name, value);
    if (why?.wrong) part.problems.push({ file, line: lineOf(text ?? '', written), text: `${written}: ${why.text}.` });
    else if (why) part.left.push({ what, why: why.text });
    else if (own[name]?.trim() && own[name] !== value)
      part.left.push({ what, why: 'it has another value here, which stays' });
    else part.found.push({ ...setting(name, value, own[name] === value), what });
  }
  return part;
}

/** Settings of another program that have another name here. */
type Names = Readonly<Record<string, { is: string; read: (text: string) => string }>>;

/** The number of the owner in the file, if it is there. */
export const ownerIn = (root: string): string | undefined => valuesIn(root).OWNER_PHONE_NUMBER;

/** Whether the `.env` of a folder has a setting that only Fetch has. */
export const isConfigured = (folder: string): boolean =>
  Object.keys(valuesIn(folder)).some((name) => isOriginalName(name) || /^(?:FETCH_|OWNER_PHONE_NUMBER$)/.test(name));

const setting = (name: string, value: string, here: boolean): Found => ({
  what: `setting ${name}`,
  here,
  take: async ({ home }) => {
    keepSettings(home, { [name]: value });
    return null;
  },
});

/** A file that cannot be read has none; `readSettings` says why. */
export function valuesIn(folder: string): Record<string, string> {
  const text = textOf(join(folder, '.env'), []);
  return text === null ? {} : parse(text);
}

function whyNot(name: string, value: string): { text: string; wrong?: boolean } | null {
  if (OWN.test(name)) return { text: 'it says where an installation is, and this one is elsewhere' };
  const original = Object.hasOwn(ORIGINAL_NAMES, name) ? ORIGINAL_NAMES[name]! : null;
  const ours = original?.is ?? name;
  if (!Object.hasOwn(settings, ours)) return isOriginalName(name) ? null : { text: 'it has no meaning here' };
  // in the container of the original, folders have other places
  if (name === 'WORKSPACE_ROOT' && !existsSync(value)) return { text: 'there is no such folder on this machine' };
  const parsed = settings[ours as keyof typeof settings].safeParse(original ? original.read(value) : value);
  return parsed.success ? null : { text: parsed.error.issues.map(({ message }) => message).join('; '), wrong: true };
}

/** The line of the last assignment, which is the one that counts. */
function lineOf(text: string, name: string): number {
  const at = text.split('\n').findLastIndex(
    (line) =>
      line
        .replace(/^\s*(?:export\s)?\s*/, '')
        .split('=')[0]!
        .trim() === name,
  );
  return at + 1;
}
