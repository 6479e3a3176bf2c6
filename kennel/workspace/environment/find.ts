import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import {
  type FoundEnvironment,
  LANGUAGES,
  MANAGERS,
  type Service,
  type WantedLanguage,
  type WantedManager,
} from '../../../src/contracts/environment.ts';
import type { WorkspaceAnswer } from '../../../src/contracts/workspace-ops.ts';
import { readText } from '../files/text.ts';
import type { Place } from '../git/repository.ts';
import { Refusal } from '../refusal.ts';
import { readDevcontainer } from './devcontainer.ts';
import { type Asked, isCargoProject, LOCKS, MANIFESTS, SOURCES } from './manifests.ts';

const MANIFEST_BYTES = 256 * 1024;
const MOST_NAMES = 5_000;
/** What a version looks like: a number, a range, or a name. Anything else is left out. */
const VERSION = /^[\w.<>=~^|*,!+ -]{1,60}$/;

/** Finds what the repository asks for. It runs nothing of it, and a file that cannot be read asks for nothing. */
export function environment(place: Place): WorkspaceAnswer {
  const { root } = place;
  const asked: Array<Asked & { file: string }> = [];
  const files: string[] = [];
  const devcontainer = readDevcontainer(place);
  if (devcontainer) {
    files.push(...devcontainer.files);
    asked.push(...devcontainer.asked.map((each) => ({ ...each, file: devcontainer.files[0]! })));
  }
  for (const [file, read] of Object.entries(MANIFESTS)) {
    const text = textOf(root, file);
    if (text === null) continue;
    files.push(file);
    if (file === 'Cargo.toml' && !isCargoProject(text, (path) => isThere(root, path))) continue;
    asked.push(...askedBy(read, text).map((each) => ({ ...each, file })));
  }
  for (const [file, each] of Object.entries(LOCKS)) {
    if (!isThere(root, file)) continue;
    files.push(file);
    asked.push(...each.map((one) => ({ ...one, file })));
  }
  asked.push(...bySources(root));
  const found: FoundEnvironment = {
    languages: LANGUAGES.flatMap((language) => wanted(language, asked, devcontainer?.files[0])),
    managers: MANAGERS.flatMap((name) => wantedManager(name, asked)),
    services: [
      ...new Set([...asked.flatMap(({ service }) => service ?? []), ...(devcontainer?.services ?? [])]),
    ].sort() as Service[],
    packages: [...new Set([...(devcontainer?.packages ?? []), ...asked.flatMap(({ packages = [] }) => packages)])],
    variables: devcontainer?.variables ?? {},
    devcontainer: devcontainer?.own ?? null,
    refused: devcontainer?.refused ?? [],
    unused: devcontainer?.unused ?? [],
    files,
  };
  const names = [
    ...found.languages.map(({ language, version }) => (version ? `${language} ${version}` : language)),
    ...found.managers.map(({ name, version }) => (version ? `${name} ${version}` : name)),
    ...found.services,
  ];
  return { ok: true, output: names.join(', ') || 'nothing special', data: { ...found } };
}

/** What is in the files that go into the image of its devcontainer. */
export function environmentFiles(place: Place): WorkspaceAnswer {
  const files = readDevcontainer(place)?.contents() ?? [];
  return { ok: true, output: `${files.length} files`, data: { files } };
}

function askedBy(read: (text: string) => Asked[], text: string): Asked[] {
  try {
    return read(text);
  } catch {
    return [];
  }
}

/** The first file that names a version decides; without one, the first that names the language. */
function wanted(
  language: WantedLanguage['language'],
  asked: ReadonlyArray<Asked & { file: string }>,
  devcontainer: string | undefined,
): WantedLanguage[] {
  const all = asked.filter((each) => each.language === language);
  const chosen = all.find(({ version }) => version && VERSION.test(version)) ?? all[0];
  if (!chosen) return [];
  const version = chosen.version && VERSION.test(chosen.version) ? chosen.version : null;
  // what the devcontainer itself names is part of its own image, too
  return [{ language, version, file: all.find(({ file }) => file === devcontainer)?.file ?? chosen.file }];
}

/** An exact version decides; of two, the one of the earlier file. */
function wantedManager(name: WantedManager['name'], asked: readonly Asked[]): WantedManager[] {
  const all = asked.filter(({ manager }) => manager === name);
  return all.length > 0 ? [{ name, version: all.find(({ version }) => version)?.version ?? null }] : [];
}

function bySources(root: string): Array<Asked & { file: string }> {
  return ['', 'src'].flatMap((folder) =>
    namesIn(join(root, folder)).flatMap((name) => {
      const extension = name.includes('.') ? name.split('.').at(-1)! : '';
      const language = Object.hasOwn(SOURCES, extension) ? SOURCES[extension] : undefined;
      return language ? [{ language, version: null, file: join(folder, name).slice(0, 200) }] : [];
    }),
  );
}

function namesIn(folder: string): string[] {
  try {
    // a link could lead to another folder of the container
    return lstatSync(folder).isDirectory() ? readdirSync(folder).slice(0, MOST_NAMES) : [];
  } catch {
    return [];
  }
}

function isThere(root: string, file: string): boolean {
  try {
    return !lstatSync(join(root, file)).isSymbolicLink();
  } catch {
    return false;
  }
}

/** Null for a file that is not there, is no plain text, or is too large. */
function textOf(root: string, file: string): string | null {
  try {
    return readText(join(root, file), file, MANIFEST_BYTES);
  } catch (error) {
    if (error instanceof Refusal || typeof (error as NodeJS.ErrnoException).code === 'string') return null;
    throw error;
  }
}
