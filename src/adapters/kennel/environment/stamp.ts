import type { Dirent, Stats } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Extensions of sources that tell a language by themselves, as `kennel/workspace/environment/manifests.ts` knows them.
 */
const SOURCE = /\.(c|cc|cpp|cxx|go|rs|java|php|rb)$/;
/** Files in which a repository says what it needs. */
const MANIFEST =
  /^(\.tool-versions|pnpm-(lock|workspace)\.yaml|yarn\.lock|\.yarnrc\.yml|bun\.lockb?|(poetry|uv|pdm|Pipfile)\.lock|uv\.toml|configure\.in|Makefile\.am|\.?mise\.toml|\.nvmrc|\.(node|python|ruby|java|go|php)-version|rust-toolchain(\.toml)?|go\.mod|Cargo\.toml|pyproject\.toml|requirements\.txt|setup\.py|Pipfile|package\.json|pom\.xml|build\.gradle(\.kts)?|composer\.json|Gemfile|CMakeLists\.txt|configure\.ac|meson\.build|\.devcontainer\.json)$/;
const MOST_NAMES = 5_000;

/**
 * Changes when a file that says something of the environment changes. Null: there is none, and nothing must be read.
 * The host looks at names and dates alone, and follows no link: what is in the files is read inside of a container.
 * `more`: other files that were read.
 */
export async function stampOf(workspace: string, more: readonly string[] = []): Promise<string | null> {
  const [root, src, devcontainer] = await Promise.all(
    ['', 'src', '.devcontainer'].map((folder) => entriesOf(join(workspace, folder))),
  );
  const manifests = root!.filter(({ name }) => MANIFEST.test(name)).map(({ name }) => name);
  const sources = [...new Set([...root!, ...src!].flatMap(({ name }) => SOURCE.exec(name)?.[1] ?? []))].sort();
  if (manifests.length + sources.length + devcontainer!.length === 0) return null;
  const files = [
    ...new Set([...manifests, ...devcontainer!.map(({ name }) => `.devcontainer/${name}`), ...more]),
  ].sort();
  return JSON.stringify([
    sources,
    await Promise.all(
      files.map(async (file) => [file, ...datesOf(await lstat(join(workspace, file)).catch(() => null))]),
    ),
  ]);
}

const datesOf = (stats: Stats | null): number[] => (stats ? [stats.ino, stats.size, stats.mtimeMs, stats.ctimeMs] : []);

async function entriesOf(folder: string): Promise<Dirent[]> {
  try {
    if (!(await lstat(folder)).isDirectory()) return [];
    return (await readdir(folder, { withFileTypes: true })).slice(0, MOST_NAMES);
  } catch {
    return [];
  }
}
