import { parseDocument } from 'yaml';
import { visible } from '../text/evidence.ts';
import { inline } from '../text/foreign-text.ts';

/**
 * A skill: a folder with a SKILL.md, and files that it names. What is read later is exactly what was agreed to, because
 * all of it is stored.
 */
export interface Skill {
  kind: 'skill';
  name: string;
  description: string;
  body: string;
  files: Array<{ path: string; text: string }>;
  /** what the form of the original lets a skill ask for; unset where it asks for nothing */
  requirements?: Requirements;
  tools: [];
}

interface Requirements {
  platforms: string[];
  programs: string[];
  variables: string[];
}

const LONGEST_BODY = 32_000;
export const MOST_FILES = 40;
export const MOST_TEXT = 200_000;
const LONGEST_DESCRIPTION = 600;

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
function frontMatter(text: string): FrontMatter | string {
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

/** Reads the SKILL.md of a folder. A string is what is wrong with it. */
export function parseSkill(folder: string, text: string, files: Skill['files']): Skill | string {
  const front = frontMatter(text);
  if (typeof front === 'string') return front;
  const { fields, values, rest: body } = front;
  const name = fields.get('name') ?? '';
  const description = inline(fields.get('description') ?? '', LONGEST_DESCRIPTION);
  if (fields.get('enabled')?.toLowerCase() === 'false') return 'It is switched off (enabled: false).';
  if (!/^[a-zA-Z0-9][a-zA-Z0-9_-]{0,63}$/.test(name))
    return 'Its name must be letters, digits, hyphens and underscores, at most 64.';
  if (description === '') return 'It has no description, by which it is chosen.';
  if (body === '') return `The SKILL.md of ${folder} says nothing below its first block.`;
  if (body.length > LONGEST_BODY)
    return `It has ${body.length} characters; ${LONGEST_BODY} is the most. Move a part into other files of the folder.`;
  const requirements = requirementsOf(values.get('requirements'));
  return { kind: 'skill', name, description, body, files, ...(requirements && { requirements }), tools: [] };
}

const REQUIRED: Record<string, keyof Requirements> = {
  platform: 'platforms',
  platforms: 'platforms',
  binaries: 'programs',
  bins: 'programs',
  envvars: 'variables',
  env: 'variables',
};

/** A map of lists, or of single words. What reads otherwise asks for nothing. */
function requirementsOf(asked: unknown): Requirements | null {
  const found: Requirements = { platforms: [], programs: [], variables: [] };
  for (const [key, value] of asked instanceof Map ? asked : []) {
    const kind = Object.hasOwn(REQUIRED, String(key).toLowerCase()) ? REQUIRED[String(key).toLowerCase()]! : null;
    const words = (Array.isArray(value) ? value : [value]).filter(
      (word): word is string => typeof word === 'string' && /^[\w.+-]{1,40}$/.test(word),
    );
    if (kind) found[kind].push(...words.slice(0, 20));
  }
  return Object.values(found).some((each) => each.length > 0) ? found : null;
}

/**
 * The programs of every container in which commands run (kennel/Dockerfile). A repository may bring more in its
 * environment.
 */
const IN_THE_IMAGE = new Set(
  'bash sh curl file git jq less make patch ps python3 rg unzip xz node npm npx tar sed awk grep find'.split(' '),
);

/**
 * What of its requirements is not met here. Commands run in containers with Linux, and get no variables of the person.
 */
function lacksOf({ platforms, programs, variables }: Requirements): string[] {
  const unknown = programs.filter((program) => !IN_THE_IMAGE.has(program));
  return [
    ...(platforms.length > 0 && !platforms.some((each) => each.toLowerCase() === 'linux')
      ? [`It is for ${platforms.join(', ')}, and commands run on Linux here.`]
      : []),
    ...(unknown.length > 0
      ? [`It needs the programs ${unknown.join(', ')}, which commands have only if the project's environment has them.`]
      : []),
    ...(variables.length > 0 ? [`It needs the variables ${variables.join(', ')}, which no command gets.`] : []),
  ];
}

/** Everything that a person agrees to. */
export const skillText = ({ description, body, files, requirements }: Skill): string =>
  [
    `When: ${visible(description)}`,
    ...(requirements ? lacksOf(requirements).map((lack) => `Missing: ${lack}`) : []),
    'I read this then, as words of yours:',
    ...visible(body)
      .split('\n')
      .map((line) => `  │ ${line}`),
    ...(files.length > 0
      ? [
          'It has these files, which I may read, and which commands and coding tasks find in their containers:',
          ...files.map(({ path, text }) => `- ${visible(path)} (${text.length} characters)`),
        ]
      : []),
  ].join('\n');

/** What the system prompt says of the skills that a turn has; empty without any. */
export const skillsPrompt = (skills: readonly Skill[]): string[] =>
  skills.length === 0
    ? []
    : [
        'The person has written down how to do some things. Before you do one of them, read it with skill_read:',
        ...skills.map(({ name, description }) => `- ${name}: ${description}`),
      ];
