import { english } from '../texts/say.ts';

/** Names of workspaces and paths inside them: what is allowed, and what to say when it is not. */

const NAME_MAX = 64;
const PATH_MAX = 1024;

/**
 * Device names of Windows, where the repository could not be cloned, and words that mean a workspace without naming it.
 */
const RESERVED = new Set([
  ...['con', 'prn', 'aux', 'nul', ...[1, 2, 3, 4, 5, 6, 7, 8, 9].flatMap((n) => [`com${n}`, `lpt${n}`])],
  ...['node_modules', 'active', 'current', 'none', 'all'],
]);

/** What is wrong with a name, with a better one if there is one; null when it is valid. */
export function nameProblem(name: string): string | null {
  const strange = [...name].find((char) => !/[A-Za-z0-9_-]/.test(char));
  if (name === '') return english('name.empty');
  if (strange !== undefined)
    return `${english('name.strange', { name: quoted(name), character: character(strange) })}${better(name)}`;
  if (name.length > NAME_MAX) return english('name.tooLong', { count: name.length, most: NAME_MAX });
  if (!/^[A-Za-z0-9]/.test(name)) return `${english('name.begins', { name: quoted(name) })}${better(name)}`;
  if (RESERVED.has(name.toLowerCase())) return english('name.reserved', { name: quoted(name) });
  return null;
}

export const isWorkspaceName = (name: string): boolean => nameProblem(name) === null;

/** Two names that differ only in case are the same: some disks and some people do not tell them apart. */
export const sameName = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();

/** The workspace that is meant: the exact name, or the only one that differs in case. */
export const findName = (wanted: string, names: Iterable<string>): string | null => {
  const all = [...names];
  if (all.includes(wanted)) return wanted;
  const alike = all.filter((name) => sameName(name, wanted));
  return alike.length === 1 ? alike[0]! : null;
};

const better = (name: string): string => {
  const plain = name
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '')
    .replace(/[^A-Za-z0-9_-]+/g, '-')
    .replace(/^[-_]+|(?<!-)-+$/g, '')
    .slice(0, NAME_MAX);
  // when letters were dropped, the rest is no suggestion
  return plain.length >= Math.min(2, name.length) && nameProblem(plain) === null
    ? ` ${english('name.better', { name: plain })}`
    : '';
};

/** A look-alike character cannot be told apart by eye, so its code point is shown. */
const character = (char: string): string =>
  char === ' '
    ? english('because.space')
    : /[!-~]/.test(char)
      ? `"${char}"`
      : `${quoted(char)} (U+${char.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')})`;

/** Foreign text in quotes, without anything invisible. */
export const quoted = (text: string): string =>
  JSON.stringify(text).replace(
    /[\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

type CheckedPath = { ok: true; path: string } | { ok: false; problem: string };

/**
 * A path inside a workspace with `/` between its parts; `.` is the workspace itself. Refuses what the text alone shows
 * to be wrong; the workspace program checks links. `changes`: git's own files are refused as well.
 */
export function checkPath(raw: string, changes: boolean): CheckedPath {
  const no = (problem: string): CheckedPath => ({ ok: false, problem });
  if (raw.length > PATH_MAX)
    return no(`The path is too long: ${raw.length} characters, at most ${PATH_MAX} are allowed.`);
  if (raw.includes('\0')) return no('The path has a null character in it.');
  // the folder's name where commands run
  const inside = raw === '/workspace' ? '.' : raw.replace(/^\/workspace\/+/, './');
  if (inside.startsWith('/') || /^[A-Za-z]:[\\/]/.test(inside) || inside.startsWith('~/'))
    return no(`${quoted(raw)} is not inside the workspace: give a path relative to it, such as src/app.ts.`);
  const parts = inside.split('/').filter((part) => part !== '' && part !== '.');
  if (parts.includes('..')) return no(`${quoted(raw)} leads upwards: paths with .. are not allowed.`);
  if (changes && parts.some((part) => part.toLowerCase() === '.git'))
    return no(`${quoted(raw)} belongs to git itself; use the git tools.`);
  return { ok: true, path: parts.join('/') || '.' };
}

/** What is wrong with a branch name; null when git takes it. */
export function branchProblem(name: string): string | null {
  const wrong =
    name === '' ||
    name.length > 200 ||
    name === 'HEAD' ||
    name === '@' ||
    /^[-/.]|[/.]$|\.\.|\/\/|\/\.|@\{|\.lock(\/|$)|[\x00-\x20\x7f-\x9f~^:?*[\\\u200b-\u200f\u2028-\u202e\u2060-\u206f]/.test(
      name,
    );
  return wrong ? `${quoted(name)} is not a name for a branch.` : null;
}
