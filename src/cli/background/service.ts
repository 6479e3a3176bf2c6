/** What a service manager is to run. */
export interface Launch {
  /** absolute */
  file: string;
  args: string[];
  env: Record<string, string>;
  folder: string;
  log: string;
  stopSeconds: number;
}

/** How the manager sees it now. `failed`: it ended by itself, and the manager may be about to start it again. */
export interface ServiceState {
  pid: number | null;
  state: 'running' | 'starting' | 'failed' | 'stopped';
}

/** The instance of one home as a service of this machine. Methods throw ServiceError. */
export interface Service {
  /** as its manager knows it */
  name: string;
  /** the file that tells the manager of it */
  file: string;
  /** a whole new file, and the start at log-in or with the machine; what runs is not touched */
  install(launch: Launch): Promise<void>;
  /** no start any more; what runs is not touched */
  remove(): Promise<void>;
  state(): Promise<ServiceState>;
  start(): Promise<void>;
  /** asks for the end and does not wait for it */
  stop(): Promise<void>;
  /** the programs that its file names: runtime, entry */
  programs(): string[];
  /** What keeps it from running while nobody is logged in, with the command that changes this; null when it does run then. */
  bound(): { text: string; mend: string | null } | null;
}

/** A service cannot be installed or steered; `message` says what to do. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
}
