import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { hasModel, INSTALLED_AGENT_NAMES, imageOf, type ModelAgentName } from '../../../../kennel/agents/registry.ts';
import type { AgentName } from '../../../contracts/kennel.ts';
import { PACKAGE_ROOT } from '../../../installation.ts';

/** The files of each image, and the image names derived from them. */

export type ImageKind = 'tools' | 'browser' | ModelAgentName;
export const IMAGE_KINDS: readonly ImageKind[] = ['tools', ...INSTALLED_AGENT_NAMES, 'browser'];
/** An agent without a model has no program of its own either: it runs in the image of the tools. */
export const imageKindOf = (agent: AgentName | 'tools'): ImageKind =>
  agent !== 'tools' && hasModel(agent) ? agent : 'tools';

/** An image of others with the program of an agent, as it is on the engine. */
export interface OthersImage {
  name: string;
  id: string;
  /** its own entry point with its arguments */
  command: readonly string[];
  /** its working directory */
  folder: string;
}

export interface ImageBuild {
  kind: ImageKind;
  /** `fetch-kennel` or `fetch-kennel-<kind>` */
  repository: string;
  /** hash of all inputs, so that other content gives another image */
  tag: string;
  name: string;
  /** one of `files` */
  dockerfile: string;
  buildArgs: Record<string, string>;
  /** relative to PACKAGE_ROOT */
  files: string[];
}

const always = [
  'kennel/Dockerfile',
  'kennel/package.json',
  'kennel/package-lock.json',
  'kennel/agents/install.sh',
  'kennel/warm-up.sh',
  'kennel/environment/fetched.sh',
];
// every image tries itself with the practice agent while it is built (`kennel/warm-up.sh`)
const folders = [
  'src/contracts',
  'kennel/templates',
  'kennel/workspace',
  'kennel/runner',
  'kennel/app',
  'kennel/agents/practice',
];
/** Files that only the host reads. */
const HOSTS = /\/facts\.ts$/;

export function imageBuild(
  kind: ImageKind,
  base: string,
  user: { uid: number; gid: number },
  others: OthersImage | null = null,
): ImageBuild {
  const { dockerfile, files, args } = others
    ? othersInputs(kind, others, imageBuild('tools', base, user).name)
    : kind === 'browser'
      ? browserInputs()
      : agentInputs(kind);
  const buildArgs = { BASE: base, ...args, USER_ID: String(user.uid), GROUP_ID: String(user.gid) };
  const hash = createHash('sha256').update(JSON.stringify(buildArgs));
  for (const file of files) {
    const content = readFileSync(join(PACKAGE_ROOT, file));
    hash.update(`\0${file}\0${content.length}\0`).update(content);
  }
  const repository = kind === 'tools' ? 'fetch-kennel' : `fetch-kennel-${kind}`;
  const tag = hash.digest('hex').slice(0, 12);
  return { kind, repository, tag, name: `${repository}:${tag}`, dockerfile, buildArgs, files };
}

/** What joins a port in a container to the gate is the same everywhere. */
const FORWARDER = 'kennel/runner/watch/socket-forwarder.ts';

type Inputs = Pick<ImageBuild, 'dockerfile' | 'files'> & { args: Record<string, string> };

function agentInputs(kind: Exclude<ImageKind, 'browser'>): Inputs {
  const own = kind === 'tools' ? [] : [`kennel/agents/${kind}`];
  const files = [...always, ...[...own, ...folders].flatMap(filesBelow).filter((file) => !HOSTS.test(file))];
  return { dockerfile: 'kennel/Dockerfile', files, args: { AGENT: kind === 'tools' ? 'none' : kind } };
}

/** Our runner is laid over an image of others. `tools`: the image that it is taken from. */
function othersInputs(kind: ImageKind, { name, id, command, folder }: OthersImage, tools: string): Inputs {
  const own = `kennel/agents/${kind}`;
  return {
    dockerfile: `${own}/Dockerfile`,
    files: filesBelow(own).filter((file) => !HOSTS.test(file)),
    args: {
      BASE: name,
      // so that another image of this name gives another one of ours
      BASE_ID: id,
      TOOLS: tools,
      // quotes would not survive in a Dockerfile
      COMMAND: Buffer.from(JSON.stringify(command)).toString('base64'),
      FOLDER: folder,
    },
  };
}

/** The image of others that this kind is made of; undefined for an image that is all ours. */
export const othersOf = (kind: ImageKind): string | undefined =>
  kind === 'tools' || kind === 'browser' ? undefined : imageOf(kind)?.name;

const browserInputs = (): Inputs => ({
  dockerfile: 'kennel/browser/Dockerfile',
  files: [...filesBelow('kennel/browser'), FORWARDER],
  args: {},
});

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
