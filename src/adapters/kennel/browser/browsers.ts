import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type Docker from 'dockerode';
import type { Config } from '../../../config.ts';
import { MINUTE } from '../../../domain/time.ts';
import type { EgressRule } from '../../../store/kennel/egress-rules.ts';
import { KeyedMutex } from '../../keyed-mutex.ts';
import { destroy, homeLabel, inspectOrNull, LABEL, statusOf } from '../docker/containers.ts';
import { explained } from '../docker/engine.ts';
import type { BrowserGate, RefusedAddress } from '../gate/browser-gate.ts';
import type { LocalApps } from '../gate/egress/local-apps.ts';
import { KennelFull } from '../kennel.ts';
import type { OpenKennel } from '../open-kennel.ts';
import { browserKey, browserName, configuration, execIn } from './container.ts';

/** The chat that a browser belongs to. */
export interface BrowserOwner {
  /** the id of a chat, or of a run of a workflow */
  key: string;
  /** the thread, and where its conversation begins: another one gets another browser */
  conversation: string;
  /** the rules of people about hosts that count for a page of this */
  rules(subject: BrowserSubject): Promise<EgressRule[]>;
  /** what `localhost` means in a browser for the apps of this workspace */
  apps(workspace: string): LocalApps;
}

/**
 * What a browser is for: the apps of one workspace, which is named by its folder on this host, or the web. Cookies and
 * storage of one are never in the other.
 */
export interface BrowserSubject {
  workspace: string | null;
}

/** A command of agent-browser with its arguments. */
export type BrowserCommand = readonly string[];

/** The answer to one command. `result` has the shape that agent-browser gives it. */
interface CommandAnswer {
  success: boolean;
  error: string | null;
  result: Record<string, unknown> | null;
}

export interface BrowserAnswer {
  /** one for each command that ran */
  answers: CommandAnswer[];
  /** addresses that the page wanted and did not get */
  refused: RefusedAddress[];
  /** a new browser was opened: no page, cookie or log-in of an earlier one is in it */
  fresh: boolean;
}

interface BrowserRun {
  /**
   * opens a browser for this where there is none, in place of one for something else; when null and there is none,
   * NoBrowser is thrown
   */
  opens: BrowserSubject | null;
  /** stop at the first command that fails */
  bail: boolean;
  /** are in the browser's container before the commands */
  files?: ReadonlyArray<{ path: string; data: Buffer }>;
  onProgress: (text: string) => void;
  signal: AbortSignal;
}

export type PictureForm = 'window' | 'page' | 'pdf';

/** The browsers of the chats on this host: at most one for each chat, kept between calls. */
export interface Browsers {
  /**
   * Runs commands in the browser of a chat. Calls of one chat run one after the other. @throws NoBrowser @throws
   * KennelFull @throws BrowserFailed
   */
  run(owner: BrowserOwner, commands: readonly BrowserCommand[], options: BrowserRun): Promise<BrowserAnswer>;
  /** What the window shows of the page or all of it, as PNG, or the page as PDF. @throws NoBrowser @throws BrowserFailed */
  picture(owner: BrowserOwner, options: Omit<BrowserRun, 'opens' | 'bail'> & { form: PictureForm }): Promise<Buffer>;
  /** The cookies and the storage of all sites, as JSON. @throws NoBrowser @throws BrowserFailed */
  loginState(owner: BrowserOwner, options: Omit<BrowserRun, 'opens' | 'bail' | 'files'>): Promise<Buffer>;
  /**
   * Pictures of these pages, as PNG, by a browser that ends with the call; null for a page that does not load.
   */
  picturesOf(
    owner: BrowserOwner,
    subject: BrowserSubject,
    pages: readonly PicturedPage[],
    signal: AbortSignal,
  ): Promise<Array<Buffer | null>>;
  /** Whether the image is there. Begins to build it where it is not. */
  isBuilt(): Promise<boolean>;
  /** Ends the browsers of conversations that are over, and closes what belonged to browsers that ended. */
  tend(isCurrent: (conversation: string) => Promise<boolean>): Promise<void>;
  /** Closes the ways out, at the end of the process. The browsers stay. */
  closeAll(): Promise<void>;
}

/** A page at an address; or one of ours, `width` CSS pixels wide and as long as it is. */
type PicturedPage = { url: string } | { html: string; width: number };

/** The chat has no open browser. */
export class NoBrowser extends Error {
  override readonly name = 'NoBrowser';
}
/** The browser did not do what it was asked for. `message` is for the model. */
export class BrowserFailed extends Error {
  override readonly name = 'BrowserFailed';
}

/** For all commands of one call, in ms. */
const CALL_MS = 30_000;
/** The program opens every site that has stored something, and waits for each. */
const LOGINS_MS = 120_000;
/** How long the care of all browsers waits for one that is at work, in ms. */
const BUSY_MS = 50;
/** A page may have any size. */
const MAX_OUTPUT = 8 * 1024 * 1024;
const MAX_PICTURE = 32 * 1024 * 1024;
const TAKEN: Record<PictureForm | 'state', { command: string; file: string }> = {
  window: { command: 'screenshot', file: '/tmp/picture.png' },
  page: { command: 'screenshot --full', file: '/tmp/picture.png' },
  pdf: { command: 'pdf', file: '/tmp/page.pdf' },
  state: { command: 'state save', file: '/tmp/state.json' },
};
/** What a page loads after its first files shows a moment later. */
const LOADED: BrowserCommand = ['wait', '--load', 'networkidle', '--timeout', '5000'];
const TOO_LARGE = 'The page is too large to be described.';

type BrowsersConfig = Pick<
  Config,
  'FETCH_HOME' | 'FETCH_KENNEL_HOST' | 'FETCH_BROWSER_SLOTS' | 'FETCH_BROWSER_IDLE_MINUTES'
>;

export function createBrowsers({
  kennel,
  config,
  gate,
}: {
  kennel: OpenKennel;
  config: BrowsersConfig;
  gate: BrowserGate;
}): Browsers {
  return new HostBrowsers(kennel, config, gate);
}

class HostBrowsers implements Browsers {
  private readonly kennel: OpenKennel;
  private readonly config: BrowsersConfig;
  private readonly gate: BrowserGate;
  private readonly home: string;
  private readonly turns = new KeyedMutex();
  /** counting the browsers and opening one must not interleave */
  private readonly starts = new KeyedMutex();

  constructor(kennel: OpenKennel, config: BrowsersConfig, gate: BrowserGate) {
    this.kennel = kennel;
    this.config = config;
    this.gate = gate;
    this.home = homeLabel(config.FETCH_HOME, config.FETCH_KENNEL_HOST);
  }

  run(owner: BrowserOwner, commands: readonly BrowserCommand[], options: BrowserRun): Promise<BrowserAnswer> {
    return this.inTurn(owner, options, async ({ id, key, fresh }) => {
      for (const { path, data } of options.files ?? [])
        await this.exec(
          id,
          ['sh', '-c', 'mkdir -p "$(dirname "$1")" && cat > "$1"', 'sh', path],
          data,
          0,
          options.signal,
        );
      const batch = ['agent-browser', 'batch', '--json', ...(options.bail ? ['--bail'] : [])];
      const said = await this.exec(id, batch, JSON.stringify(commands), MAX_OUTPUT, options.signal);
      return { answers: answersIn(said), refused: this.gate.refused(key), fresh };
    });
  }

  picture(
    owner: BrowserOwner,
    { form, ...options }: Omit<BrowserRun, 'opens' | 'bail'> & { form: PictureForm },
  ): Promise<Buffer> {
    return this.taken(owner, form, 'No picture of the page could be taken.', options);
  }

  loginState(owner: BrowserOwner, options: Omit<BrowserRun, 'opens' | 'bail'>): Promise<Buffer> {
    return this.taken(owner, 'state', 'The log-in could not be read.', options);
  }

  /** A file that agent-browser writes. */
  private taken(
    owner: BrowserOwner,
    what: keyof typeof TAKEN,
    failed: string,
    options: Omit<BrowserRun, 'opens' | 'bail'>,
  ): Promise<Buffer> {
    return this.inTurn(owner, { ...options, opens: null, bail: true }, async ({ id }) => {
      const { command, file } = TAKEN[what];
      const taken = `agent-browser ${command} ${file} >&2 && base64 -w0 ${file} && rm -f ${file}`;
      const limitMs = what === 'state' ? LOGINS_MS : CALL_MS;
      const said = await this.exec(id, ['sh', '-c', taken], '', MAX_PICTURE, options.signal, limitMs);
      const picture = Buffer.from(said.stdout, 'base64');
      if (said.code === 137) throw new BrowserFailed(`The browser did not answer within ${limitMs / 1000} seconds.`);
      if (said.code !== 0 || said.cut || picture.length === 0) throw new BrowserFailed(said.stderr.trim() || failed);
      return picture;
    });
  }

  async picturesOf(
    owner: BrowserOwner,
    subject: BrowserSubject,
    pages: readonly PicturedPage[],
    signal: AbortSignal,
  ): Promise<Array<Buffer | null>> {
    const options = { onProgress: () => {}, signal };
    const taken: Array<Buffer | null> = [];
    try {
      for (const page of pages) {
        const commands = 'url' in page ? [['open', page.url], LOADED] : drawn(page);
        const { answers } = await this.run(owner, commands, { ...options, opens: subject, bail: true });
        const isThere = 'url' in page ? answers[0]?.success : answers.every(({ success }) => success);
        taken.push(
          isThere ? await this.picture(owner, { ...options, form: 'html' in page ? 'page' : 'window' }) : null,
        );
      }
      return taken;
    } finally {
      const key = browserKey(owner.key);
      await this.turns.run(key, () => this.endUnused(key, async () => false)).catch(() => {});
    }
  }

  async isBuilt(): Promise<boolean> {
    const { images } = this.kennel;
    if (await images.state('browser')) return true;
    images.provide('browser').catch(() => {});
    return false;
  }

  async tend(isCurrent: (conversation: string) => Promise<boolean>): Promise<void> {
    await explained(async () => {
      const keys = (await this.list()).map(({ Labels }) => Labels[LABEL.browser]!);
      for (const key of new Set([...keys, ...this.gate.openBrowsers()])) {
        // in the turn of each chat, so that a browser that just starts is not taken for one that ended; one that is at
        // work is looked at in the next round
        const busy = AbortSignal.timeout(BUSY_MS);
        await this.turns
          .run(key, () => this.endUnused(key, isCurrent), busy)
          .catch((error) => {
            if (error !== busy.reason) throw error;
          });
      }
    });
  }

  closeAll(): Promise<void> {
    return this.gate.closeAll();
  }

  private inTurn<T>(
    owner: BrowserOwner,
    options: BrowserRun,
    act: (browser: { id: string; key: string; fresh: boolean }) => Promise<T>,
  ): Promise<T> {
    const key = browserKey(owner.key);
    return explained(() =>
      this.turns.run(
        key,
        async () => {
          const found = await this.find(key, owner.conversation, options.opens);
          const subject = found ?? options.opens;
          if (!subject) throw new NoBrowser('No page is open in the browser of this chat.');
          const folder = await this.wayOut(key, owner, subject);
          const id = found?.id ?? (await this.start(key, folder, owner, subject, options));
          return await act({ id, key, fresh: found === null });
        },
        options.signal,
      ),
    );
  }

  /**
   * The running browser of this conversation. One of an earlier conversation, one for something else, or one that has
   * ended, is removed.
   */
  private async find(
    key: string,
    conversation: string,
    wanted: BrowserSubject | null,
  ): Promise<({ id: string } & BrowserSubject) | null> {
    const { docker } = this.kennel.engine;
    const found = await inspectOrNull(docker, browserName(this.home, key));
    if (!found) return null;
    const { [LABEL.conversation]: of, [LABEL.workspace]: workspace = null } = found.Config.Labels;
    if (found.State.Running && of === conversation && (!wanted || wanted.workspace === workspace))
      return { id: found.Id, workspace };
    await destroy(docker, found.Id);
    return null;
  }

  private async wayOut(key: string, owner: BrowserOwner, subject: BrowserSubject): Promise<string> {
    const folder = join(this.config.FETCH_HOME, 'kennel', 'browsers', key);
    await mkdir(folder, { recursive: true, mode: 0o755 });
    const { workspace } = subject;
    await this.gate.open({
      key,
      folder,
      rules: () => owner.rules(subject),
      apps: workspace === null ? null : owner.apps(workspace),
    });
    return folder;
  }

  private async start(
    key: string,
    gate: string,
    { conversation }: BrowserOwner,
    { workspace }: BrowserSubject,
    { onProgress, signal }: BrowserRun,
  ): Promise<string> {
    const context = await this.kennel.contextFor('browser', onProgress, signal);
    return await this.starts.run(
      this.home,
      async () => {
        const open = (await this.list()).filter(({ State }) => State === 'running').length;
        const { FETCH_BROWSER_SLOTS: slots, FETCH_BROWSER_IDLE_MINUTES: minutes } = this.config;
        if (open >= slots)
          throw new KennelFull(
            `all ${slots} browsers are in use (FETCH_BROWSER_SLOTS), and one ends after ${minutes} minutes without use.`,
          );
        const { docker } = this.kennel.engine;
        const created = await docker.createContainer(
          configuration(context, { key, conversation, workspace, gate, idleMs: minutes * MINUTE }),
        );
        try {
          await created.start();
          return created.id;
        } catch (error) {
          await destroy(docker, created.id);
          throw error;
        }
      },
      signal,
    );
  }

  private async exec(
    id: string,
    argv: string[],
    stdin: string | Buffer,
    maxOutput: number,
    signal: AbortSignal,
    timeoutMs = CALL_MS,
  ) {
    try {
      return await execIn(this.kennel.engine, id, ['sh', '-c', 'touch /tmp/used && exec "$@"', 'sh', ...argv], {
        stdin,
        timeoutMs,
        maxOutput,
        signal,
      });
    } catch (error) {
      // 409: it ended between the look and the call
      if (statusOf(error) === 409) throw new NoBrowser('The browser of this chat has just ended.');
      throw error;
    }
  }

  private async endUnused(key: string, isCurrent: (conversation: string) => Promise<boolean>): Promise<void> {
    const { docker } = this.kennel.engine;
    const found = await inspectOrNull(docker, browserName(this.home, key));
    if (found?.State.Running && (await isCurrent(found.Config.Labels[LABEL.conversation] ?? ''))) return;
    if (found) await destroy(docker, found.Id);
    await this.gate.close(key);
  }

  private list(): Promise<Docker.ContainerInfo[]> {
    return this.kennel.engine.docker.listContainers({
      all: true,
      filters: { label: [`${LABEL.home}=${this.home}`, LABEL.browser] },
    });
  }
}

/** Twice the pixels, for the screens of phones. */
const drawn = ({ html, width }: { html: string; width: number }): BrowserCommand[] => [
  ['set', 'viewport', String(width), '100', '2'],
  ['open', 'about:blank'],
  ['eval', `document.documentElement.innerHTML = ${JSON.stringify(html)}; null`],
];

function answersIn({
  code,
  stdout,
  stderr,
  cut,
}: {
  code: number | null;
  stdout: string;
  stderr: string;
  cut: boolean;
}): CommandAnswer[] {
  if (cut) throw new BrowserFailed(TOO_LARGE);
  if (code === 137) throw new BrowserFailed(`The browser did not answer within ${CALL_MS / 1000} seconds.`);
  try {
    return JSON.parse(stdout) as CommandAnswer[];
  } catch (error) {
    throw new BrowserFailed(`The browser failed: ${(stderr || stdout).trim().slice(0, 500) || 'it said nothing.'}`, {
      cause: error,
    });
  }
}
