import semver from 'semver';
import type { Language, WantedLanguage } from '../../../contracts/environment.ts';
import type { Told } from '../../../domain/texts/say.ts';

/** What is installed for a language that a repository wants, and what a person should know of it. */
interface Installed {
  /** major version of Node, or version of Go; null: the usual one */
  version: string | null;
  /** a sentence, when it is not what the repository asks for */
  note: Told | null;
}

/** What Debian 12 has; Go and Node come from their own registries. */
const GOT = { python: '3.11', rust: '1.96', java: '17', php: '8.2', ruby: '3.1' } as const;
/** `kennel/environment/go.sh` */
const GO = '1.27.4';
/** The Node that drives the agents. */
const NODE = 24;
/** Major versions that are on the npm registry, the most useful first. */
const NODE_MAJORS = [24, 22, 20, 18, 16, 14, 26, 25, 23, 21, 19];
export const LABELS: Record<Language, string> = {
  node: 'Node',
  python: 'Python',
  go: 'Go',
  rust: 'Rust',
  java: 'Java',
  c: 'C',
  php: 'PHP',
  ruby: 'Ruby',
};

/** Decides what a repository gets. `file` is where it says what it wants. */
export function installedFor({ language, version, file }: WantedLanguage): Installed {
  const usual = { version: null, note: null };
  if (version === null || language === 'c') return usual;
  if (language === 'node') return nodeFor(version, file);
  if (language === 'go') return goFor(version);
  const got = GOT[language];
  return fits(language, version, got) ? usual : { version: null, note: differs(language, version, got, file) };
}

const differs =
  (language: Language, wanted: string, got: string, file: string): Told =>
  (say) =>
    say('environment.differs', { file, language: LABELS[language], wanted, got });

function nodeFor(version: string, file: string): Installed {
  const range = rangeOf(version);
  const major = range === null ? undefined : NODE_MAJORS.find((each) => semver.intersects(range, `${each}.x`));
  if (major === undefined) return { version: null, note: differs('node', version, String(NODE), file) };
  return { version: major === NODE ? null : String(major), note: null };
}

/** A newer Go builds older modules, so only a newer one than ours is wanted. */
function goFor(version: string): Installed {
  const wanted = semver.coerce(version);
  return { version: wanted && semver.gt(wanted, GO) ? wanted.version : null, note: null };
}

function fits(language: Language, version: string, got: string): boolean {
  // a newer compiler takes what an older one takes
  if (language === 'rust' && /^(stable|\d)/.test(version))
    return semver.lte(semver.coerce(version) ?? '0.0.0', semver.coerce(got)!);
  if (language === 'java') return Number(/(?:^|\D)(?:1\.)?(\d+)/.exec(version)?.[1] ?? 0) <= Number(got);
  const range = rangeOf(version);
  // the smallest part of a version is not told apart
  return range !== null && semver.intersects(range, `${got}.x`);
}

/** A range as npm writes it, also from Python's, Ruby's and PHP's way; null when it is none. */
function rangeOf(version: string): string | null {
  const plain = version
    .trim()
    .replace(/^[a-z]+-?(?=\d)/i, '')
    // `~=3.9` and `~> 3.1` let the last part rise
    .replace(/~[=>]\s*(\d+)\.(\d+)(?!\.?\d)/g, '^$1.$2')
    .replace(/~[=>]\s*/g, '~')
    .replace(/={2,3}/g, '=')
    .replaceAll(',', ' ')
    .replace(/!=\s*[\w.*]+/g, ' ')
    .replace(/(?<!\|)\|(?!\|)/g, '||')
    .trim();
  const single = /^v?\d+(\.\d+){0,2}$/.test(plain) ? plain.replace(/^v/, '').split('.').slice(0, 2).join('.') : plain;
  return semver.validRange(single) === null ? null : single;
}
