import { lstatSync } from 'node:fs';
import { posix } from 'node:path';
import { getNodeValue, type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser';
import {
  type CopiedContent,
  type Devcontainer,
  type RefusedLine,
  SERVICES,
  type Service,
} from '../../../src/contracts/environment.ts';
import { existing } from '../files/paths.ts';
import { readText } from '../files/text.ts';
import type { Place } from '../git/repository.ts';
import { Refusal } from '../refusal.ts';
import { BuildFiles } from './build-files.ts';
import {
  all,
  commands,
  featureOf,
  isEmpty,
  OWN_VARIABLE,
  properties,
  REFUSED,
  REFUSED_IN_BUILD,
  texts,
} from './devcontainer-parts.ts';
import { readDockerfile, type Source } from './dockerfile.ts';
import type { Asked } from './manifests.ts';

const PLACES = ['.devcontainer/devcontainer.json', '.devcontainer.json'];
const FILE_BYTES = 256 * 1024;
const DOCKERFILE_BYTES = 64 * 1024;
const LINE_CHARS = 160;
const MOST_REFUSED = 20;

const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,99}$/;
const PACKAGE = /^[a-z0-9][a-z0-9+.-]{1,100}$/;
/** An image of a registry, with a tag or a digest. */
const IMAGE = /^[a-z0-9][a-z0-9._:/-]{0,200}(@sha256:[0-9a-f]{64})?$/;
// biome-ignore lint/suspicious/noTemplateCurlyInString: as it is written in the file
const WORKSPACE_FOLDER = '${containerWorkspaceFolder}';
const COMMANDS = ['onCreateCommand', 'updateContentCommand', 'postCreateCommand', 'postStartCommand'];

export interface ReadDevcontainer {
  asked: Asked[];
  services: Service[];
  packages: string[];
  variables: Record<string, string>;
  own: Devcontainer | null;
  refused: RefusedLine[];
  /** lines that are left out */
  unused: RefusedLine[];
  files: string[];
  /** what is in the files that its Dockerfile copies */
  contents(): CopiedContent[];
}

/** Reads the devcontainer of a repository. With a refused line nothing of it is used. Null where there is none. */
export function readDevcontainer(place: Place): ReadDevcontainer | null {
  const file = PLACES.find((each) => lstatOf(place.root, each));
  if (!file) return null;
  const reading = new Reading(place, file);
  try {
    reading.read();
  } catch (error) {
    if (!(error instanceof Refusal) && !(error instanceof RangeError)) throw error;
    reading.refuse(0, error instanceof Refusal ? error.message : 'It is nested too deeply to be read.');
  }
  const { result } = reading;
  return result.refused.length > 0 ? { ...nothing(), refused: result.refused, files: result.files } : result;
}

const nothing = (): ReadDevcontainer => ({
  asked: [],
  services: [],
  packages: [],
  variables: {},
  own: null,
  refused: [],
  unused: [],
  files: [],
  contents: () => [],
});

class Reading {
  readonly result: ReadDevcontainer;
  private readonly place: Place;
  private readonly file: string;
  private text = '';
  /** what the paths of its Dockerfile begin at */
  private folder: string;
  private sources: Array<Source & { file: string }> = [];

  constructor(place: Place, file: string) {
    this.place = place;
    this.file = file;
    this.folder = posix.dirname(file);
    this.result = { ...nothing(), files: [file] };
  }

  read(): void {
    this.text = readText(existing(this.place.root, this.file).absolute, this.file, FILE_BYTES);
    const errors: ParseError[] = [];
    const tree = parseTree(this.text, errors, { allowTrailingComma: true });
    const wrong = errors[0];
    if (wrong) {
      this.refuse(wrong.offset, `It is no JSON with comments (${printParseErrorCode(wrong.error)}).`);
      return;
    }
    if (tree?.type !== 'object') {
      this.refuse(0, 'It is no JSON object.');
      return;
    }
    for (const [key, value, offset] of properties(tree)) this.property(key, value, offset);
    this.localVariables(tree);
    if (this.sources.length > 0) this.copies();
    const { own } = this.result;
    if (own && own.image === null && own.dockerfile === null && own.setup.length === 0) this.result.own = null;
  }

  refuse(offset: number, why: string): void {
    this.refuseLine(this.lineAt(offset, why));
  }

  private lineAt(offset: number, why: string): RefusedLine {
    const line = this.text.slice(0, offset).split('\n').length;
    return { file: this.file, line, text: this.text.split('\n')[line - 1] ?? '', why };
  }

  private refuseLine({ text, ...line }: RefusedLine, among = this.result.refused): void {
    if (among.length < MOST_REFUSED) among.push({ ...line, text: text.trim().slice(0, LINE_CHARS) });
  }

  private get own(): Devcontainer {
    this.result.own ??= { file: this.file, image: null, dockerfile: null, copied: [], args: {}, setup: [] };
    return this.result.own;
  }

  private property(key: string, value: Node, offset: number): void {
    if (Object.hasOwn(REFUSED, key)) {
      if (!isEmpty(value)) this.refuse(offset, REFUSED[key]!);
    } else if (key === 'image') this.image(value, offset);
    else if (key === 'build') this.build(value, offset);
    else if (key === 'dockerFile') this.dockerfile(value, offset);
    else if (key === 'context') this.context(value, offset);
    else if (key === 'features') this.features(value, offset);
    else if (key === 'containerEnv' || key === 'remoteEnv') this.environment(value, offset);
    else if (COMMANDS.includes(key)) this.own.setup.push(...commands(getNodeValue(value)));
    else if (key === 'customizations') this.customizations(getNodeValue(value), offset);
    // other keys are about editors and ports, and change nothing here
  }

  private image(value: Node, offset: number): void {
    if (typeof value.value === 'string' && IMAGE.test(value.value)) this.own.image = value.value;
    else this.refuse(offset, 'This is no name of an image.');
  }

  private build(value: Node, offset: number): void {
    if (value.type !== 'object') {
      this.refuse(offset, 'This is no description of a build.');
      return;
    }
    for (const [key, each, at] of properties(value)) {
      if (Object.hasOwn(REFUSED_IN_BUILD, key)) {
        if (!isEmpty(each)) this.refuse(at, REFUSED_IN_BUILD[key]!);
      } else if (key === 'dockerfile') this.dockerfile(each, at);
      else if (key === 'context') this.context(each, at);
      else if (key === 'target') this.refuse(at, 'Only the last stage of a Dockerfile is built here.');
      else if (key === 'args') this.args(each, at);
    }
  }

  private context(value: Node, offset: number): void {
    this.folder = this.inside(value, offset)?.replace(/(?<=.)\/$/, '') ?? this.folder;
  }

  private dockerfile(value: Node, offset: number): void {
    const path = this.inside(value, offset);
    if (path === null) return;
    try {
      const text = readText(existing(this.place.root, path).absolute, path, DOCKERFILE_BYTES);
      this.result.files.push(path);
      const { refused, sources } = readDockerfile(text);
      for (const line of refused) this.refuseLine({ file: path, ...line });
      this.sources = sources.map((source) => ({ ...source, file: path }));
      this.own.dockerfile = text;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.refuse(offset, error.message);
    }
  }

  /** Finds what the Dockerfile copies. */
  private copies(): void {
    const [first] = this.sources;
    const files = first && this.orRefused(first, () => new BuildFiles(this.place, this.folder));
    if (!files) return;
    for (const source of this.sources) this.orRefused(source, () => files.take(source.path));
    this.own.copied = files.copied;
    this.result.files = [...new Set([...this.result.files, ...files.watched])];
    this.result.contents = () => files.contents();
  }

  /** Null, with the line of the Dockerfile, when it is refused. */
  private orRefused<T>({ path: _, ...at }: Source & { file: string }, action: () => T): T | null {
    try {
      return action();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.refuseLine({ ...at, why: error.message });
      return null;
    }
  }

  /** A path of the file, relative to the workspace; null when it leads out of it. */
  private inside(value: Node, offset: number): string | null {
    const path = typeof value.value === 'string' ? posix.join(posix.dirname(this.file), value.value) : '..';
    if (typeof value.value === 'string' && !value.value.startsWith('/') && path !== '..' && !path.startsWith('../'))
      return path;
    this.refuse(offset, 'This path leads out of the repository.');
    return null;
  }

  private args(value: Node, offset: number): void {
    for (const [name, text, at] of texts(value)) {
      if (text === null || !NAME.test(name) || OWN_VARIABLE.test(name))
        this.refuse(at ?? offset, 'This is no argument of a build that can be used here.');
      else this.own.args[name] = text;
    }
  }

  private environment(value: Node, offset: number): void {
    for (const [name, text, at] of texts(value)) {
      if (text === null || !NAME.test(name)) this.refuse(at ?? offset, 'This is no variable with a text.');
      else if (OWN_VARIABLE.test(name)) this.refuse(at ?? offset, `${name} belongs to the container itself.`);
      else this.result.variables[name] = text.replaceAll(WORKSPACE_FOLDER, '/workspace');
    }
  }

  private features(value: Node, offset: number): void {
    if (value.type !== 'object') {
      this.refuse(offset, 'This is no list of features.');
      return;
    }
    for (const [name, options, at] of properties(value)) {
      const feature = featureOf(name, getNodeValue(options));
      if (feature === null)
        this.refuseLine(
          this.lineAt(
            at,
            'Only features that are packages are known here; this one would run a program of its author as root.',
          ),
          this.result.unused,
        );
      else {
        this.result.asked.push(...feature.asked);
        this.addPackages(feature.packages, at);
      }
    }
  }

  /** `customizations.fetch`: our own part of the file. */
  private customizations(value: unknown, offset: number): void {
    const { services = [], packages = [] } = ((value as { fetch?: object } | null)?.fetch ?? {}) as {
      services?: unknown;
      packages?: unknown;
    };
    if (!Array.isArray(services) || !Array.isArray(packages)) {
      this.refuse(offset, 'Services and packages are lists of names.');
      return;
    }
    for (const service of services) {
      if ((SERVICES as readonly unknown[]).includes(service)) this.result.services.push(service as Service);
      else this.refuse(offset, `There is no service of this name. Known are ${SERVICES.join(', ')}.`);
    }
    this.addPackages(packages, offset);
  }

  private addPackages(names: unknown[], offset: number): void {
    for (const name of names.slice(0, 200)) {
      if (typeof name === 'string' && PACKAGE.test(name)) this.result.packages.push(name);
      else this.refuse(offset, 'This is no name of a Debian package.');
    }
  }

  /** Variables of the host, wherever they are used. */
  private localVariables(tree: Node): void {
    for (const node of all(tree)) {
      if (node.type === 'string' && /\$\{local(Env|WorkspaceFolder)/.test(String(node.value)))
        this.refuse(node.offset, 'It would read variables or folders of this machine.');
    }
  }
}

function lstatOf(root: string, path: string): boolean {
  try {
    return !lstatSync(`${root}/${path}`).isDirectory();
  } catch {
    return false;
  }
}
