import { UserError } from '../../../contracts/user-error.ts';
/** The program that a service manager runs. */
export interface Launch {
  /** absolute */
  file: string;
  args: string[];
  env: Record<string, string>;
  folder: string;
  log: string;
  stopSeconds: number;
}

/** The manager's view. `failed`: it ended by itself, and the manager may be about to start it again. */
export interface ServiceState {
  pid: number | null;
  state: 'running' | 'starting' | 'failed' | 'stopped';
}

/** The instance of one home as a service of this machine. Methods throw ServiceError. */
export interface Service {
  /** its name in the service manager */
  name: string;
  /** its file for the service manager */
  file: string;
  /** writes the file and enables the start at log-in or boot; a running instance is not touched */
  install(launch: Launch): Promise<void>;
  /** disables the start; a running instance is not touched */
  remove(): Promise<void>;
  state(): Promise<ServiceState>;
  start(): Promise<void>;
  /** asks it to end, and does not wait */
  stop(): Promise<void>;
  /** the programs that its file names: runtime, entry */
  programs(): string[];
  /** Why it does not run while nobody is logged in, with the command that changes this; null when it does. */
  bound(): { text: string; mend: string | null } | null;
}

/**
 * Runtime and entry, among the words that a service file runs: without flags of the runtime, and without the command at
 * the end.
 */
export const programsAmong = (words: string[]): string[] => words.slice(0, -1).filter((word) => !word.startsWith('-'));

/** A service cannot be installed or controlled; `message` says what to do. */
export class ServiceError extends UserError {
  override readonly name = 'ServiceError';
}
