import { visible } from '../text/evidence.ts';
import { inline } from '../text/foreign-text.ts';

/** A skill: a folder with a SKILL.md, and files that it names. What is read later is exactly what was agreed to, because all of it is stored. */
export interface Skill {
  kind: 'skill';
  name: string;
  description: string;
  body: string;
  files: Array<{ path: string; text: string }>;
  tools: [];
}

export const LONGEST_BODY = 32_000;
export const MOST_FILES = 40;
export const MOST_TEXT = 200_000;
const LONGEST_DESCRIPTION = 600;

/** Reads the SKILL.md of a folder. A string is what is wrong with it. */
export function parseSkill(folder: string, text: string, files: Skill['files']): Skill | string {
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/);
  const end = lines[0]?.trim() === '---' ? lines.findIndex((line, at) => at > 0 && line.trim() === '---') : -1;
  if (end < 0) return 'It must begin with a block between two lines of ---, with a name and a description.';
  const fields = frontMatter(lines.slice(1, end));
  const name = fields.get('name') ?? '';
  const description = fields.get('description') ?? '';
  if (fields.get('enabled') === 'false') return 'It is switched off (enabled: false).';
  if (!/^[a-zA-Z0-9][a-zA-Z0-9_-]{0,63}$/.test(name)) return 'Its name must be letters, digits, hyphens and underscores, at most 64.';
  if (description === '') return 'It has no description, by which it is chosen.';
  const body = lines
    .slice(end + 1)
    .join('\n')
    .trim();
  if (body === '') return `The SKILL.md of ${folder} says nothing below its first block.`;
  if (body.length > LONGEST_BODY) return `It has ${body.length} characters; ${LONGEST_BODY} is the most. Move a part into other files of the folder.`;
  return { kind: 'skill', name, description: inline(description, LONGEST_DESCRIPTION), body, files, tools: [] };
}

/** The keys at the margin, each with its text on one line or, after `>` and `|`, on the indented lines below. */
function frontMatter(lines: readonly string[]): Map<string, string> {
  const fields = new Map<string, string>();
  let key = '';
  for (const line of lines) {
    const at = line.indexOf(':');
    if (!/^\s/.test(line) && at > 0) {
      key = line.slice(0, at).trim().toLowerCase();
      const value = line.slice(at + 1).trim();
      fields.set(key, /^[>|][+-]?$/.test(value) ? '' : unquoted(value));
    } else if (key !== '' && /^\s/.test(line)) fields.set(key, `${fields.get(key)} ${line.trim()}`.trim());
  }
  return fields;
}

const unquoted = (value: string): string => (/^(?:".*"|'.*')$/.test(value) ? value.slice(1, -1) : value);

/** Everything that a person agrees to. */
export const skillText = ({ description, body, files }: Skill): string =>
  [
    `When: ${visible(description)}`,
    'I read this then, as words of yours:',
    ...visible(body)
      .split('\n')
      .map((line) => `  │ ${line}`),
    ...(files.length > 0 ? ['It has these files, which I may read:', ...files.map(({ path, text }) => `- ${visible(path)} (${text.length} characters)`)] : []),
  ].join('\n');

/** What the system prompt says of the skills that a turn has; empty without any. */
export const skillsPrompt = (skills: readonly Skill[]): string[] =>
  skills.length === 0
    ? []
    : [
        'The person has written down how to do some things. Before you do one of them, read it with skill_read:',
        ...skills.map(({ name, description }) => `- ${name}: ${description}`),
      ];
