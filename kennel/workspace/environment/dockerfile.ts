import { posix } from 'node:path';

/** Instructions that need nothing but the image before them. */
const PLAIN = new Set([
  'FROM',
  'RUN',
  'ENV',
  'ARG',
  'USER',
  'WORKDIR',
  'SHELL',
  'LABEL',
  'EXPOSE',
  'CMD',
  'ENTRYPOINT',
  'STOPSIGNAL',
  'MAINTAINER',
]);

interface Line {
  /** from 1 */
  line: number;
  text: string;
}

interface Refused extends Line {
  why: string;
}

/**
 * A file, a folder or a pattern that the build copies, relative to the folder that it is built from. `.` is all of that
 * folder.
 */
export interface Source extends Line {
  path: string;
}

interface Instruction extends Line {
  name: string;
  rest: string;
}

/** What a Dockerfile copies of the repository, and its lines that are not allowed. Nothing of it is run here. */
export function readDockerfile(dockerfile: string): { refused: Refused[]; sources: Source[] } {
  const refused: Refused[] = [];
  const sources: Source[] = [];
  const directive = /^#\s*(syntax|escape)\s*=/i.exec(dockerfile);
  if (directive)
    refused.push({
      line: 1,
      text: dockerfile.split('\n')[0]!,
      why: 'It would give the file to another program to read.',
    });
  const stages = new Set<string>();
  let froms = 0;
  for (const { name, rest, line, text } of instructions(dockerfile)) {
    const read = name === 'COPY' || name === 'ADD' ? copied(name, rest, stages) : (whyNot(name, rest) ?? []);
    if (typeof read === 'string') refused.push({ line, text, why: read });
    else sources.push(...read.map((path) => ({ path, line, text })));
    if (name !== 'FROM') continue;
    const stage = /\bAS\s+(\S+)\s*$/i.exec(rest)?.[1];
    if (stage) stages.add(stage.toLowerCase());
    stages.add(String(froms));
    froms += 1;
  }
  if (froms === 0) refused.push({ line: 1, text: dockerfile.split('\n')[0]!, why: 'A Dockerfile begins with FROM.' });
  return { refused, sources };
}

function whyNot(name: string, rest: string): string | null {
  if (name === 'FROM' && /^--/.test(rest)) return 'Only images for this machine are used.';
  if (name === 'RUN' && /^--(mount|network|security)\b/.test(rest))
    return 'It would reach beyond the build: secrets, caches or the network of this machine.';
  return PLAIN.has(name) ? null : `${name.slice(0, 20)} is not used here.`;
}

/** The sources of COPY or ADD; a sentence when the instruction is not allowed. */
function copied(name: string, rest: string, stages: ReadonlySet<string>): string[] | string {
  let words = rest;
  let from: string | undefined;
  for (let flag = FLAG.exec(words); flag; flag = FLAG.exec(words)) {
    if (flag[1] === 'from' && name === 'COPY') from = (flag[2] ?? '').toLowerCase();
    else if (flag[1] !== 'chown')
      return `Of the options of ${name} only --chown${name === 'COPY' ? ' and --from' : ''} can be used here.`;
    words = words.slice(flag[0].length);
  }
  if (from !== undefined) return stages.has(from) ? [] : 'It would take files of another image of this machine.';
  const paths = wordsOf(words).slice(0, -1);
  if (paths.length === 0) return `${name} needs a file and the place where it goes.`;
  return paths.map(whyNoSource).find((why) => why !== null) ?? paths.map(plain);
}

const FLAG = /^--([\w-]*)(?:=(\S*))?(?:\s+|$)/;

function wordsOf(text: string): string[] {
  try {
    const list: unknown = JSON.parse(text);
    if (Array.isArray(list) && list.every((word) => typeof word === 'string')) return list;
  } catch {
    // words between spaces, as they are written mostly
  }
  return text.split(/\s+/).filter(Boolean);
}

function whyNoSource(path: string): string | null {
  if (/:\/\/|^git@/.test(path))
    return 'It would load a file from elsewhere. Load it with RUN, and compare its checksum.';
  if (path.startsWith('<<')) return 'Write its lines into a file of the repository, and copy that.';
  if (/[$"'\\[\]\0]/.test(path)) return 'Write the names of files plainly: only * and ? stand for something else here.';
  const way = plain(path);
  return way === '..' || way.startsWith('../')
    ? 'This path leads out of the folder that the image is built from.'
    : null;
}

/** As the engine reads it: an absolute path begins at the folder of the build, too. */
const plain = (path: string): string => posix.normalize(path.replace(/^\/+/, '') || '.').replace(/(?<=.)\/$/, '');

function* instructions(dockerfile: string): Generator<Instruction> {
  const lines = dockerfile.split('\n');
  for (let at = 0; at < lines.length; at += 1) {
    const text = lines[at]!;
    if (text.trim() === '' || text.trim().startsWith('#')) continue;
    const first = at;
    let whole = text;
    // comments and empty lines between continued lines are left out by the engine as well
    while (/\\\s*$/.test(whole) && at + 1 < lines.length) {
      at += 1;
      const next = lines[at]!;
      if (next.trim() !== '' && !next.trim().startsWith('#')) whole = `${whole.replace(/\\\s*$/, ' ')}${next}`;
      else if (next.trim() === '') continue;
    }
    const [, name = '', rest = ''] = /^\s*(\S+)\s*([\s\S]*)$/.exec(whole) ?? [];
    yield { name: name.toUpperCase(), rest: rest.trim(), line: first + 1, text: text.trim() };
  }
}
