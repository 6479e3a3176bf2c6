import { randomUUID } from 'node:crypto';
import { chmod, mkdir, readdir, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { dirname, join, normalize } from 'node:path';
import type { Skill } from '../../domain/extensions/skill.ts';
import { DAY } from '../../domain/time.ts';

/**
 * Folders of skills for containers, which get them read only at `/skills/NAME`. They are written from what the owner
 * agreed to, not from what the owner's folder holds now, and a folder never changes: its name is the hash of the
 * version.
 */

interface AgreedSkill {
  hash: string;
  skill: Skill;
}

/** A folder of this host, and the name under which containers see it. */
export interface MountedSkill {
  name: string;
  folder: string;
}

const UNUSED_MS = DAY;

const foldersOf = (home: string): string => join(home, 'skill-folders');

export const mountSkills = (home: string, skills: readonly AgreedSkill[]): Promise<MountedSkill[]> =>
  Promise.all(skills.map(async ({ hash, skill }) => ({ name: skill.name, folder: await folderOf(home, hash, skill) })));

async function folderOf(home: string, hash: string, skill: Skill): Promise<string> {
  const folder = join(foldersOf(home), hash);
  const now = new Date();
  const known = await utimes(folder, now, now).then(
    () => true,
    () => false,
  );
  if (known) return folder;
  const beside = `${folder}.${randomUUID()}`;
  const texts = [
    {
      path: 'SKILL.md',
      text: `---\nname: ${skill.name}\ndescription: ${JSON.stringify(skill.description)}\n---\n\n${skill.body}\n`,
    },
    ...skill.files,
  ];
  for (const { path, text } of texts) {
    const file = join(beside, normalize(join('/', path)));
    await mkdir(dirname(file), { recursive: true, mode: 0o755 });
    // a program is known by its first line, because nothing else of it was kept
    await writeFile(file, text, { mode: text.startsWith('#!') ? 0o755 : 0o644 });
  }
  await readableByAll(beside);
  // of two at once, one is enough
  await rename(beside, folder).catch(async (error) => {
    await rm(beside, { recursive: true, force: true });
    if (!(await stat(folder).catch(() => null))) throw error;
  });
  return folder;
}

/** The user of a container is another one, and the mask of this process may be strict. */
async function readableByAll(folder: string): Promise<void> {
  await chmod(folder, 0o755);
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    await chmod(path, entry.isDirectory() || ((await stat(path)).mode & 0o100) !== 0 ? 0o755 : 0o644);
  }
}

/** Removes folders of versions that nobody agrees to, and what a killed process left half made. */
export async function dropSkillFolders(home: string, agreed: ReadonlySet<string>): Promise<void> {
  for (const name of await readdir(foldersOf(home)).catch(() => [])) {
    const folder = join(foldersOf(home), name);
    const used = (await stat(folder).catch(() => null))?.mtimeMs ?? 0;
    if (!agreed.has(name) && Date.now() - used > UNUSED_MS) await rm(folder, { recursive: true, force: true });
  }
}
