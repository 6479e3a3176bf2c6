import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { basename, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type Docker from 'dockerode';
import { INSIDE } from '../../../contracts/kennel.ts';
import { HOUR } from '../../../domain/time.ts';
import { KeyedMutex } from '../../keyed-mutex.ts';
import { EMPTY_HOME, insideWorkspace } from '../command.ts';
import { Demux, destroy, inspectOrNull, LABEL } from '../docker/containers.ts';
import { hostConfig, mount } from '../docker/hardening.ts';
import { type App, KennelFull, type StartApp } from '../kennel.ts';
import type { RunContext } from '../runs.ts';
import { Preview } from './preview.ts';
import { addressesInNetworks, PreviewLink } from './preview-link.ts';

/** Most apps of one host at a time. Each may use as much memory as a task. */
const MAX_APPS = 4;
/** How long the container of an app that ended by itself stays, so that its log can be read. */
const KEPT_MS = HOUR;
const STOP_SECONDS = 5;
/** How long a connection to an app waits until the app says its port, in ms. */
const PORT_MS = 5_000;

/** In an environment image, the project's own `node` may be too old for our program. */
const RUN = [
  'sh',
  '-c',
  'exec "$(command -v /opt/fetch/bin/node || command -v node)" /opt/fetch/kennel/app/main.ts "$@"',
  'app',
];
const SOCKET = `${INSIDE.run}/app`;

/**
 * Programs that run until they are stopped, such as a development server. The engine holds them, with all that is to be
 * known in labels, so they outlive this process. Their previews belong to this process; the next one opens them again
 * at the same port.
 */
export class Apps {
  private readonly folder: string;
  private readonly contextOf: (workspace: string | null) => Promise<RunContext>;
  private readonly previews = new Map<string, Preview>();
  private readonly links = new Map<string, PreviewLink>();
  private readonly turns = new KeyedMutex();

  constructor(home: string, contextOf: (workspace: string | null) => Promise<RunContext>) {
    this.folder = join(home, 'kennel', 'apps');
    this.contextOf = contextOf;
  }

  /** Starts an app, or finds the one that this call started. */
  start(image: string, app: StartApp): Promise<string> {
    return this.turns.run('', async () => {
      const context = await this.contextOf(app.workspace);
      const id = `app-${createHash('sha256').update(app.callId).digest('hex').slice(0, 6)}`;
      const name = nameOf(context, id);
      if (await inspectOrNull(context.engine.docker, name)) return id;
      const running = (await this.listed(context)).filter(({ state }) => state === 'running');
      if (running.length >= MAX_APPS)
        throw new KennelFull(
          `${MAX_APPS} apps run on this host (${running.map((each) => each.id).join(', ')}). Stop one first.`,
        );
      const preview = await Preview.open(join(this.folder, id), app.workspace, 0);
      this.previews.set(id, preview);
      try {
        await context.engine.docker.createContainer({
          ...this.configuration(context, image, app, id, preview.port),
          name,
        });
        await context.engine.docker.getContainer(name).start();
      } catch (error) {
        await this.end(context, id);
        throw error;
      }
      return id;
    });
  }

  async list(): Promise<App[]> {
    return (await this.listed(await this.contextOf(null))).filter(({ copy }) => !copy);
  }

  /** The last lines of what an app printed. */
  async log(id: string, lines: number): Promise<string> {
    const { engine, ...context } = await this.contextOf(null);
    const raw = await engine.docker
      .getContainer(nameOf(context, id))
      .logs({ stdout: true, stderr: true, tail: lines, follow: false });
    const taken: Buffer[] = [];
    const take = (bytes: Buffer) => void taken.push(bytes);
    new Demux({ stdout: take, stderr: take }).push(raw);
    return Buffer.concat(taken).toString('utf8');
  }

  /** Asks an app to end, and ends it. False when it is not there. */
  stop(id: string): Promise<boolean> {
    return this.turns.run('', async () => {
      const context = await this.contextOf(null);
      const { docker } = context.engine;
      const found = await inspectOrNull(docker, nameOf(context, id));
      if (!found) return false;
      if (found.State.Running)
        await docker
          .getContainer(found.Id)
          .stop({ t: STOP_SECONDS })
          .catch(() => {});
      await this.end(context, id);
      return true;
    });
  }

  /**
   * Opens a link to an app for one device in the owner's network, in place of an earlier one. Null when the app does
   * not listen, or this machine is in no network.
   */
  async link(id: string): Promise<{ url: string; until: number } | null> {
    await this.settled(id, PORT_MS, AbortSignal.timeout(2 * PORT_MS));
    const preview = this.previews.get(id);
    const [address] = addressesInNetworks();
    if (!preview?.reached || preview.appPort === null || address === undefined) return null;
    this.links.get(id)?.close();
    const link = await PreviewLink.open({ connect: () => preview.tunnel(), port: preview.appPort }, address);
    this.links.set(id, link);
    return link;
  }

  /** Waits until an app listens on a port, or has ended. */
  async settled(id: string, ms: number, signal: AbortSignal): Promise<App | null> {
    const deadline = Date.now() + ms;
    for (;;) {
      const app = (await this.listed(await this.contextOf(null))).find((each) => each.id === id) ?? null;
      if (!app || app.state === 'exited' || app.address !== null || Date.now() > deadline) return app;
      await pause(200, undefined, { signal });
    }
  }

  /**
   * A connection to the app in this workspace that listens on this port; null when there is none. It begins in the
   * app's own container, so it never leads to a port of this machine. The engine is asked only when no container is
   * connected here: the app may have ended, or an earlier process had its preview.
   */
  async connect(workspace: string, port: number): Promise<Socket | null> {
    const at = () => [...this.previews.values()].filter((preview) => preview.workspace === workspace);
    const found = () => at().find((preview) => preview.appPort === port && preview.reached);
    if (!found()) {
      await this.turns.run('', async () => {
        for (const app of await this.listed(await this.contextOf(null))) await this.settlePreview(app);
      });
      const deadline = Date.now() + PORT_MS;
      while (!found() && Date.now() < deadline && at().some((preview) => preview.appPort === null || !preview.reached))
        await pause(50);
    }
    return (await found()?.tunnel()) ?? null;
  }

  /**
   * Opens previews that an earlier process had, and removes what ended long ago or has lost its workspace. Returns the
   * apps that are left.
   */
  tend(ended?: (app: App) => Promise<void>): Promise<App[]> {
    return this.turns.run('', async () => {
      const context = await this.contextOf(null);
      const apps = await this.listed(context);
      const left: App[] = [];
      for (const app of apps) {
        const lost = !existsSync(app.workspace);
        if (app.state === 'exited' && !lost && !app.copy) await ended?.(app);
        if (lost || (app.state === 'exited' && Date.now() - (app.endedAt ?? 0) > KEPT_MS))
          await this.end(context, app.id);
        else {
          left.push(app);
          await this.settlePreview(app);
        }
      }
      return left;
    });
  }

  /** An app that runs has a preview in this process, and one that has ended has none. */
  private async settlePreview({ id, state, workspace, previewPort }: App): Promise<void> {
    if (state === 'exited') await this.closePreview(id);
    else if (!this.previews.has(id))
      this.previews.set(id, await Preview.open(join(this.folder, id), workspace, previewPort));
  }

  async release(): Promise<void> {
    await Promise.all([...this.previews.keys()].map((id) => this.closePreview(id)));
  }

  private async listed({ engine, home }: Pick<RunContext, 'engine' | 'home'>): Promise<Array<App & { copy: boolean }>> {
    const found = await engine.docker.listContainers({
      all: true,
      filters: { label: [`${LABEL.home}=${home}`, LABEL.app] },
    });
    const seen = await Promise.all(found.map(({ Id }) => inspectOrNull(engine.docker, Id)));
    return seen
      .filter((each) => each !== null)
      .map((each) => this.viewOf(each))
      .sort((a, b) => a.startedAt.localeCompare(b.startedAt));
  }

  private viewOf({ Config, State }: Docker.ContainerInspectInfo): App & { copy: boolean } {
    const {
      [LABEL.app]: id = '',
      [LABEL.call]: callId = '',
      [LABEL.workspace]: workspace = '',
      [LABEL.command]: command = '',
    } = Config.Labels;
    const previewPort = Number(Config.Labels[LABEL.port]);
    const appPort = this.previews.get(id)?.appPort ?? null;
    const state = ['exited', 'dead', 'removing'].includes(State.Status) ? 'exited' : 'running';
    const address = state === 'running' && appPort !== null ? `http://127.0.0.1:${previewPort}/` : null;
    return {
      ...{
        id,
        callId,
        workspace,
        name: basename(workspace),
        command,
        state,
        previewPort,
        appPort,
        address,
        startedAt: State.StartedAt,
      },
      copy: LABEL.copy in Config.Labels,
      exitCode: state === 'exited' ? State.ExitCode : null,
      outOfMemory: State.OOMKilled,
      endedAt: state === 'exited' ? Date.parse(State.FinishedAt) : null,
    };
  }

  private async end(context: Pick<RunContext, 'engine' | 'home'>, id: string): Promise<void> {
    await destroy(context.engine.docker, nameOf(context, id));
    await this.closePreview(id);
    await rm(join(this.folder, id), { recursive: true, force: true });
  }

  private async closePreview(id: string): Promise<void> {
    const preview = this.previews.get(id);
    this.previews.delete(id);
    this.links.get(id)?.close();
    this.links.delete(id);
    await preview?.close();
  }

  private configuration(
    { user, limits, system, home }: RunContext,
    image: string,
    app: StartApp,
    id: string,
    previewPort: number,
  ): Docker.ContainerCreateOptions {
    const env: Record<string, string> = {
      ...app.env,
      HOME: EMPTY_HOME,
      TERM: 'dumb',
      ...(app.port && { PORT: String(app.port) }),
    };
    return {
      Image: image,
      Cmd: [...RUN, `${SOCKET}/preview.sock`, String(app.port ?? 0), ...app.argv],
      Env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
      WorkingDir: insideWorkspace(app.cwd),
      User: `${user.uid}:${user.gid}`,
      Hostname: 'kennel',
      Labels: {
        [LABEL.home]: home,
        [LABEL.app]: id,
        [LABEL.call]: app.callId,
        [LABEL.workspace]: app.workspace,
        [LABEL.command]: app.command,
        [LABEL.port]: String(previewPort),
        ...(app.base !== undefined && { [LABEL.copy]: 'true' }),
      },
      HostConfig: hostConfig({
        limits,
        user,
        emptyHome: EMPTY_HOME,
        output: 'long',
        mounts: [mount(app.workspace, INSIDE.workspace), mount(join(this.folder, id), SOCKET, true), ...system],
      }),
    };
  }
}

const nameOf = ({ home }: Pick<RunContext, 'home'>, id: string): string => `fetch-${home}-${id}`;
