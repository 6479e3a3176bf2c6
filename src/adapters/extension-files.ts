import { lstat, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type CustomTool, parseCustomTool } from '../domain/extensions/custom-tool.ts';
import { MOST_FILES, MOST_TEXT, parseSkill, type Skill } from '../domain/extensions/skill.ts';

/** Custom tools and skills in FETCH_HOME, as they are now. */

export interface FoundFile<T> {
  /** of its file or folder */
  name: string;
  /** a string is why it is not used */
  found: T | string;
}

const MOST = 200;
const LONGEST_TOOL = 100_000;

export async function readCustomTools(home: string): Promise<FoundFile<CustomTool>[]> {
  const files = (await namesIn(join(home, 'tools'))).filter((name) => name.endsWith('.json')).slice(0, MOST);
  return Promise.all(
    files.map(async (name) => {
      const text = await textOf(join(home, 'tools', name), LONGEST_TOOL);
      return { name: name.slice(0, -5), found: text.ok ? parseCustomTool(text.text) : text.why };
    }),
  );
}

export async function readSkills(home: string): Promise<FoundFile<Skill>[]> {
  const folders = (await namesIn(join(home, 'skills'))).filter((name) => !name.startsWith('.')).slice(0, MOST);
  return Promise.all(folders.map(async (name) => ({ name, found: await readSkill(join(home, 'skills', name), name) })));
}

async function readSkill(folder: string, name: string): Promise<Skill | string> {
  const main = await textOf(join(folder, 'SKILL.md'), MOST_TEXT);
  if (!main.ok) return `SKILL.md: ${main.why}`;
  const files: Skill['files'] = [];
  let room = MOST_TEXT - main.text.length;
  for (const path of (await filesBelow(folder)).filter((each) => each !== 'SKILL.md')) {
    if (files.length >= MOST_FILES) return `It has more than ${MOST_FILES} files.`;
    const file = await textOf(join(folder, path), room);
    if (!file.ok) return `${path}: ${file.why}`;
    room -= file.text.length;
    files.push({ path, text: file.text });
  }
  return parseSkill(name, main.text, files);
}

/** Paths of the files below a folder, in one order. Links are left out: they may lead anywhere. */
async function filesBelow(folder: string, under = ''): Promise<string[]> {
  const found: string[] = [];
  const entries = await readdir(join(folder, under), { withFileTypes: true });
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = under === '' ? entry.name : `${under}/${entry.name}`;
    if (entry.name.startsWith('.') || found.length > MOST_FILES + 1) continue;
    if (entry.isDirectory() && path.split('/').length < 6) found.push(...(await filesBelow(folder, path)));
    else if (entry.isFile()) found.push(path);
  }
  return found;
}

const namesIn = (folder: string): Promise<string[]> =>
  readdir(folder).then(
    (names) => names.sort(),
    () => [],
  );

/** The text of an ordinary file, or why it has none that can be used. */
async function textOf(path: string, most: number): Promise<{ ok: true; text: string } | { ok: false; why: string }> {
  try {
    const stats = await lstat(path);
    if (!stats.isFile()) return { ok: false, why: 'It is not an ordinary file.' };
    if (stats.size > most) return { ok: false, why: `It is too long: together ${MOST_TEXT} characters are the most.` };
    const text = await readFile(path, 'utf8');
    return text.includes('\0') ? { ok: false, why: 'It is no text.' } : { ok: true, text };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return { ok: false, why: code === 'ENOENT' ? 'It is not there.' : message };
  }
}
