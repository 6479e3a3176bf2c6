import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HarnessName } from '../../../contracts/kennel.ts';
import { PACKAGE_ROOT } from '../../../installation.ts';

/** The files of each image, and the image names derived from them. */

/** `practice` is not among them: it needs no program and runs in the tools image. */
export type Agent = Exclude<HarnessName, 'practice'>;
export type ImageKind = 'tools' | Agent;
export const IMAGE_KINDS: readonly ImageKind[] = ['tools', 'claude', 'codex', 'gemini', 'copilot', 'opencode'];
export const imageKindOf = (harness: HarnessName | 'tools'): ImageKind => (harness === 'practice' ? 'tools' : harness);

export interface ImageBuild {
  kind: ImageKind;
  /** `fetch-kennel` or `fetch-kennel-<agent>` */
  repository: string;
  /** hash of all inputs, so that other content gives another image */
  tag: string;
  name: string;
  buildArgs: Record<string, string>;
  /** relative to PACKAGE_ROOT */
  files: string[];
}

const always = ['kennel/Dockerfile', 'kennel/package.json', 'kennel/package-lock.json', 'kennel/agents/install.sh', 'kennel/warm-up.sh'];
const folders = ['src/contracts', 'kennel/templates', 'kennel/workspace', 'kennel/runner'];

export function imageBuild(kind: ImageKind, base: string, user: { uid: number; gid: number }): ImageBuild {
  const files = [...always, ...(kind === 'tools' ? [] : filesBelow(`kennel/agents/${kind}`)), ...folders.flatMap(filesBelow)];
  const buildArgs = { BASE: base, AGENT: kind === 'tools' ? 'none' : kind, USER_ID: String(user.uid), GROUP_ID: String(user.gid) };
  const hash = createHash('sha256').update(JSON.stringify(buildArgs));
  for (const file of files) {
    const content = readFileSync(join(PACKAGE_ROOT, file));
    hash.update(`\0${file}\0${content.length}\0`).update(content);
  }
  const repository = kind === 'tools' ? 'fetch-kennel' : `fetch-kennel-${kind}`;
  const tag = hash.digest('hex').slice(0, 12);
  return { kind, repository, tag, name: `${repository}:${tag}`, buildArgs, files };
}

/** Sorted, so that equal content has one hash on every file system. */
function filesBelow(folder: string): string[] {
  if (!existsSync(join(PACKAGE_ROOT, folder))) return [];
  return readdirSync(join(PACKAGE_ROOT, folder), { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory()) return entry.name === 'node_modules' ? [] : filesBelow(path);
      return entry.isFile() ? [path] : [];
    });
}
