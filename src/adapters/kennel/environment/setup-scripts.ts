import { createHash, randomUUID } from 'node:crypto';
import { lstat, mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';

/** A script that an agent proposed and a person agreed to. It worked once. */
interface SetupScript {
  sha256: string;
  script: string;
  /** RFC 3339 */
  agreedAt: string;
}

/** For people: whose script it is. */
interface ListedScript extends SetupScript {
  workspace: string;
}

const shape = z.object({
  workspace: z.string(),
  current: z.object({ sha256: z.string(), script: z.string(), agreedAt: z.string() }).nullable(),
  /** by the id of the question: null, or why the script could not be used */
  outcomes: z.record(z.string(), z.string().nullable()),
});
type Kept = z.infer<typeof shape>;

/** Outcomes that are remembered for a workspace. */
const MOST_OUTCOMES = 100;

/** Writes a file whole: a kill leaves the old one or the new one. */
export async function replaceFile(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const part = `${file}.${randomUUID()}`;
  await writeFile(part, text);
  await rename(part, file);
}

/** The setup script of each workspace on this host. */
export class SetupScripts {
  private readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  async of(workspace: string): Promise<SetupScript | null> {
    return (await this.load(workspace)).current;
  }

  /**
   * What became of an answered question: null when its script was adopted, a reason when it failed, undefined when
   * nothing was tried yet.
   */
  async outcome(workspace: string, id: string): Promise<string | null | undefined> {
    return (await this.load(workspace)).outcomes[id];
  }

  /** Keeps what became of a question. A script that worked takes the place of the one before. */
  async conclude(workspace: string, id: string, script: string, failed: string | null): Promise<void> {
    const kept = await this.load(workspace);
    const current =
      failed === null ? { sha256: hashOf(script), script, agreedAt: new Date().toISOString() } : kept.current;
    const outcomes = Object.fromEntries(
      [...Object.entries(kept.outcomes), [id, failed] as const].slice(-MOST_OUTCOMES),
    );
    await this.save(workspace, { ...kept, current, outcomes });
  }

  async list(): Promise<ListedScript[]> {
    const files = (await readdir(this.folder).catch(() => []))
      .filter((name) => name.endsWith('.json'))
      .map((name) => join(this.folder, name));
    const all = await Promise.all(
      files.map(async (file) => {
        const kept = await read(file);
        // the folder is gone, or it is another one by now
        return kept?.current && (await this.fileOf(kept.workspace)) === file
          ? [{ workspace: kept.workspace, ...kept.current }]
          : [];
      }),
    );
    return all.flat();
  }

  /** Takes the script of a workspace back; images that have it go when nobody uses them. False when there was none. */
  async revoke(workspace: string): Promise<boolean> {
    const kept = await this.load(workspace);
    if (kept.current) await this.save(workspace, { ...kept, current: null });
    return kept.current !== null;
  }

  private async load(workspace: string): Promise<Kept> {
    const file = await this.fileOf(workspace);
    return (file && (await read(file))) || { workspace, current: null, outcomes: {} };
  }

  private async save(workspace: string, kept: Kept): Promise<void> {
    const file = await this.fileOf(workspace);
    if (file) await replaceFile(file, JSON.stringify(kept));
  }

  /**
   * The folder itself counts, too: another one of the same name is another repository, to which nobody agreed. Null:
   * there is no folder.
   */
  private async fileOf(workspace: string): Promise<string | null> {
    const stats = await lstat(workspace).catch(() => null);
    if (!stats) return null;
    const { ino, birthtimeMs } = stats;
    return join(this.folder, `${hashOf(JSON.stringify([workspace, ino, Math.floor(birthtimeMs)])).slice(0, 24)}.json`);
  }
}

async function read(file: string): Promise<Kept | null> {
  const text = await readFile(file, 'utf8').catch(() => null);
  return text === null ? null : shape.parse(JSON.parse(text));
}

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');
