/**
 * What a repository says of the environment that it needs: `data` of the workspace operation `environment`. The files
 * are a stranger's, so they are read inside of a container, and the host checks this answer again.
 */

export const LANGUAGES = ['node', 'python', 'go', 'rust', 'java', 'c', 'php', 'ruby'] as const;
export type Language = (typeof LANGUAGES)[number];

/** Programs that tests need besides, on loopback. `mysql` is MariaDB. */
export const SERVICES = ['postgresql', 'redis', 'mysql'] as const;
export type Service = (typeof SERVICES)[number];

/** Package managers that are not part of their language. */
export const MANAGERS = ['pnpm', 'yarn', 'bun', 'poetry', 'uv', 'pdm', 'pipenv'] as const;
export type Manager = (typeof MANAGERS)[number];

export interface WantedManager {
  name: Manager;
  /** as written, an exact version; `berry`: yarn from 2 on; null: any */
  version: string | null;
}

export interface WantedLanguage {
  language: Language;
  /** as written, a number or a range; null: any */
  version: string | null;
  /** where it is written */
  file: string;
}

/** A line of a devcontainer that is not allowed here. */
export interface RefusedLine {
  file: string;
  /** from 1 */
  line: number;
  /** the line itself, cut */
  text: string;
  /** what is wrong with it, as a sentence */
  why: string;
}

/** Folder of ours among the files of a build: none of the repository is taken from there. */
export const BUILD_FOLDER = '.fetch';

/** A file of the repository that goes into an image. */
export interface CopiedFile {
  /** relative to the folder that the Dockerfile copies from */
  path: string;
  executable: boolean;
  bytes: number;
  sha256: string;
}

/** `data.files` of the workspace operation `environment-files`: what is in these files, for a build. */
export interface CopiedContent extends Pick<CopiedFile, 'path' | 'executable'> {
  base64: string;
}

/** The part of a devcontainer that runs somebody else's code, so that a person must agree first. */
export interface Devcontainer {
  file: string;
  /** an image of a registry, or the text of a Dockerfile; both null: ours */
  image: string | null;
  dockerfile: string | null;
  /** files of the repository that the Dockerfile copies, in the order of their names */
  copied: CopiedFile[];
  /** ARGs of the Dockerfile */
  args: Record<string, string>;
  /** shell lines that prepare the workspace; they run inside of the task's container */
  setup: string[];
}

export interface FoundEnvironment {
  /** one for each language, in the order of `LANGUAGES` */
  languages: WantedLanguage[];
  /** one for each package manager, in the order of `MANAGERS` */
  managers: WantedManager[];
  services: Service[];
  /** names of Debian packages */
  packages: string[];
  variables: Record<string, string>;
  /** null also when a line of it is refused */
  devcontainer: Devcontainer | null;
  refused: RefusedLine[];
  /** lines of the devcontainer that are left out, while the rest is used */
  unused: RefusedLine[];
  /** files and folders that this answer depends on, relative to the workspace */
  files: string[];
}
