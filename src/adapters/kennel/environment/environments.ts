import { createHash } from 'node:crypto';
import type { Dirent, Stats } from 'node:fs';
import { lstat, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type {
  CopiedContent,
  CopiedFile,
  Devcontainer,
  FoundEnvironment,
  RefusedLine,
} from '../../../contracts/environment.ts';
import { INSIDE } from '../../../contracts/kennel.ts';
import type { WorkspaceAnswer, WorkspaceOp } from '../../../contracts/workspace-ops.ts';
import { blockQuote, inline } from '../../../domain/text/foreign-text.ts';
import type { Say, Told } from '../../../domain/texts/say.ts';
import type { EnvironmentAsked } from '../kennel.ts';
import { checkedContents, checkedEnvironment, NOTHING } from './found.ts';
import { type Recipe, recipeOf } from './recipe.ts';
import { replaceFile, SetupScripts } from './setup-scripts.ts';

/** A way to make the image of a workspace. */
interface Choice {
  /** null: the images of the kennel have all that it needs */
  recipe: Recipe | null;
  /** what of the versions a person should know */
  notes: Told[];
  /** what to say when it cannot be built and the next choice is used; null for the last */
  lost: Told | null;
}

/** The environment of a workspace, as its files are now. */
export interface Environment {
  /** the first that can be built is used */
  choices: Choice[];
  /** environment variables that the repository sets */
  variables: Record<string, string>;
  /** shell lines that prepare the workspace */
  setup: string[];
  /** what a person must still decide; nothing of it is used until then */
  undecided: EnvironmentAsked | null;
  /** sentences for the person: versions that it did not get, and lines that are refused */
  notes: Told[];
}

/** More files than this are counted in a question, and not named. */
const SHOWN_FILES = 40;

interface Kept {
  stamp: string;
  found: FoundEnvironment;
}

type Read = (
  workspace: string,
  op: Extract<WorkspaceOp['op'], 'environment' | 'environment-files'>,
) => Promise<WorkspaceAnswer>;

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
async function stampOf(workspace: string, more: readonly string[] = []): Promise<string | null> {
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

/** What workspaces need. What was found is kept with the dates of the files, so that a warm start reads nothing. */
export class Environments {
  readonly scripts: SetupScripts;
  private readonly folder: string;
  private readonly read: Read;
  private readonly kept = new Map<string, Kept>();

  /** `read` asks the workspace program, in a container. */
  constructor(home: string, read: Read) {
    this.folder = join(home, 'kennel', 'environments');
    this.scripts = new SetupScripts(join(this.folder, 'scripts'));
    this.read = read;
  }

  /** `script`: as it would be with this setup script. */
  async of(workspace: string, script?: string): Promise<Environment> {
    const found = await this.found(workspace);
    const asked = askedBy(found.devcontainer);
    const decision = asked && (await this.decision(asked.hash));
    const agreed = decision === 'yes';
    const setup = script ?? (await this.scripts.of(workspace))?.script ?? null;
    const undecided = decision === null ? asked : null;
    return {
      choices: choicesOf(found, agreed, setup),
      variables: found.variables,
      setup: agreed ? (found.devcontainer?.setup ?? []) : [],
      undecided,
      notes: [
        ...refusals(found),
        ...(undecided ? [(say: Say) => say('environment.asks', { file: undecided.file })] : []),
      ],
    };
  }

  /** What is in the files that the Dockerfile of the repository copies, as they are now. */
  async contents(workspace: string): Promise<CopiedContent[]> {
    return checkedContents((await this.read(workspace, 'environment-files')).data);
  }

  async decide(hash: string, agreed: boolean): Promise<void> {
    await replaceFile(this.decisionFile(hash), agreed ? 'yes' : 'no');
  }

  private async decision(hash: string): Promise<'yes' | 'no' | null> {
    const said = await readFile(this.decisionFile(hash), 'utf8').catch(() => '');
    return said === 'yes' || said === 'no' ? said : null;
  }

  private decisionFile(hash: string): string {
    return join(this.folder, 'decisions', hash);
  }

  private async found(workspace: string): Promise<FoundEnvironment> {
    const kept = this.kept.get(workspace) ?? (await this.load(workspace));
    const stamp = await stampOf(workspace, kept?.found.files);
    if (stamp === null) return NOTHING;
    if (kept?.stamp === stamp) return kept.found;
    const found = await this.ask(workspace);
    // something was written meanwhile: the next one reads it again
    if ((await stampOf(workspace, kept?.found.files)) !== stamp) return found;
    const fresh = { stamp: (await stampOf(workspace, found.files)) ?? stamp, found };
    this.kept.set(workspace, fresh);
    await this.save(workspace, fresh);
    return found;
  }

  private async ask(workspace: string): Promise<FoundEnvironment> {
    const answer = await this.read(workspace, 'environment');
    return answer.ok ? checkedEnvironment(answer.data) : NOTHING;
  }

  private fileOf(workspace: string): string {
    return join(this.folder, `${createHash('sha256').update(workspace).digest('hex').slice(0, 24)}.json`);
  }

  private async load(workspace: string): Promise<Kept | undefined> {
    try {
      const { stamp, found } = JSON.parse(await readFile(this.fileOf(workspace), 'utf8')) as Kept;
      const kept = { stamp: String(stamp), found: checkedEnvironment(found) };
      this.kept.set(workspace, kept);
      return kept;
    } catch {
      // never read, or by another release
      return undefined;
    }
  }

  private save(workspace: string, kept: Kept): Promise<void> {
    return replaceFile(this.fileOf(workspace), JSON.stringify(kept));
  }
}

/** Its devcontainer, what a no to that gives, and that without package managers. */
function choicesOf(found: FoundEnvironment, agreed: boolean, script: string | null): Choice[] {
  const own = recipeOf(found, agreed, script);
  const { devcontainer, managers } = found;
  return [
    ...(own.recipe?.base
      ? [
          {
            ...own,
            lost: (say: Say) => say('environment.notUsable', { file: devcontainer!.file }),
          },
        ]
      : []),
    ...(managers.length > 0
      ? [
          {
            ...recipeOf(found, false, script),
            lost: (say: Say) => say('environment.without', { managers: say.list(managers.map(({ name }) => name)) }),
          },
        ]
      : []),
    { ...recipeOf({ ...found, managers: [] }, false, script), lost: null },
  ];
}

/** Only what runs code of others is asked about. */
function askedBy(devcontainer: Devcontainer | null): EnvironmentAsked | null {
  if (!devcontainer) return null;
  const { file, image, dockerfile, copied, args, setup } = devcontainer;
  const text = [
    ...(dockerfile === null && image !== null ? [`Its base is the image ${image}.`] : []),
    ...(dockerfile === null
      ? []
      : ['Its base is made by this Dockerfile, with the network of this machine:', dockerfile.trimEnd()]),
    ...(copied.length > 0 ? [copies(copied)] : []),
    ...Object.entries(args).map(([name, value]) => `with the argument ${name}=${value}`),
    ...(setup.length > 0 ? ['These commands run in the container of each task, before the agent:', ...setup] : []),
  ].join('\n');
  return {
    hash: createHash('sha256')
      .update(JSON.stringify([image, dockerfile, args, setup, ...(copied.length > 0 ? [copied] : [])]))
      .digest('hex')
      .slice(0, 24),
    file,
    text,
  };
}

/** The files that a Dockerfile copies. What is in them counts: a change of one asks again. */
function copies(copied: readonly CopiedFile[]): string {
  const shown = copied
    .slice(0, SHOWN_FILES)
    .map(({ path, bytes }) => `  ${inline(path, 200)} (${bytes.toLocaleString('en')} bytes)`);
  const rest = copied.length - shown.length;
  return [
    `It copies these files of the repository, as they are now:`,
    ...shown,
    ...(rest > 0 ? [`  and ${rest} more`] : []),
  ].join('\n');
}

function refusals({ refused, unused }: FoundEnvironment): Told[] {
  if (refused.length > 0) return [(say) => `${say('environment.unused')}\n${quoted(refused)}`];
  return unused.length > 0 ? [(say) => `${say('environment.usedWithout')}\n${quoted(unused)}`] : [];
}

const quoted = (lines: readonly RefusedLine[]): string =>
  blockQuote(
    lines
      .map(({ file, line, text, why }) => `${inline(`${file}, line ${line}: ${text}`, 300)}\n${inline(why, 300)}`)
      .join('\n'),
  );

/**
 * The variables of an agent's container. Programs in Java do not know `HTTPS_PROXY`: without these, Maven and Gradle
 * never ask for a host.
 */
export function runVariables(home: string): Record<string, string> {
  const proxy = ['http', 'https']
    .map((scheme) => `-D${scheme}.proxyHost=127.0.0.1 -D${scheme}.proxyPort=${INSIDE.egressPort}`)
    .join(' ');
  const variables = homeVariables(home);
  return { ...variables, MAVEN_OPTS: `${variables.MAVEN_OPTS} ${proxy}`, GRADLE_OPTS: proxy };
}

/**
 * Caches of package managers: below HOME, because all else of a container is read-only. Most tools look there by
 * themselves.
 */
export const homeVariables = (home: string): Record<string, string> => ({
  CARGO_HOME: `${home}/.cargo`,
  GOPATH: `${home}/go`,
  GOCACHE: `${home}/.cache/go-build`,
  GRADLE_USER_HOME: `${home}/.gradle`,
  // Maven asks the system for the folder of its user, not HOME
  MAVEN_OPTS: `-Duser.home=${home}`,
  PIP_CACHE_DIR: `${home}/.cache/pip`,
  // Debian's pip refuses without it, also where it installs for the user alone
  PIP_BREAK_SYSTEM_PACKAGES: '1',
  // in the workspace, where the tests after a task find them
  POETRY_VIRTUALENVS_IN_PROJECT: 'true',
  PIPENV_VENV_IN_PROJECT: '1',
  npm_config_cache: `${home}/.npm`,
  COMPOSER_HOME: `${home}/.composer`,
  GEM_HOME: `${home}/.gem`,
});
