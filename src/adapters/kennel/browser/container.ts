import { createHash } from 'node:crypto';
import { finished } from 'node:stream/promises';
import type Docker from 'dockerode';
import { INSIDE } from '../../../contracts/kennel.ts';
import { HOUR } from '../../../domain/time.ts';
import { type CommandContext, EMPTY_HOME } from '../command.ts';
import { Demux, LABEL } from '../docker/containers.ts';
import type { Engine } from '../docker/engine.ts';
import { hostConfig, mount } from '../docker/hardening.ts';
import { KeptOutput } from '../kept-output.ts';

/** The container of a browser: who it belongs to, and what is in it. */

/** As in kennel/browser/policy.json. */
const PROXY_PORT = 3128;
/** How long one step of the browser may take inside, in ms; the call itself has a little more. */
const STEP_MS = 20_000;
/** The longest life of a browser, however much it is used. */
const LIFE_MS = 12 * HOUR;

/** A chat has one browser. The name says nothing about the chat. */
export const browserKey = (owner: string): string => createHash('sha256').update(owner).digest('hex').slice(0, 16);

/** One name for each chat, so that the engine refuses the second of two simultaneous starts. */
export const browserName = (home: string, key: string): string => `fetch-${home}-browser-${key}`;

interface BrowserContainer {
  key: string;
  /** the thread, and where its conversation begins */
  conversation: string;
  /** folder on the host of the workspace whose apps it is for; null: it is for the web */
  workspace: string | null;
  /** folder on the host with `egress.sock` */
  gate: string;
  idleMs: number;
}

export function configuration(
  { image, limits, user, system, home }: CommandContext,
  browser: BrowserContainer,
): Docker.ContainerCreateOptions {
  const env: Record<string, string> = {
    HOME: EMPTY_HOME,
    AGENT_BROWSER_EXECUTABLE_PATH: '/usr/bin/chromium',
    AGENT_BROWSER_PROXY: `http://127.0.0.1:${PROXY_PORT}`,
    // without this, Chromium reaches the ports of its own container past the proxy
    AGENT_BROWSER_PROXY_BYPASS: '<-loopback>',
    AGENT_BROWSER_INIT_SCRIPTS: '/opt/fetch/kennel/browser/dialogs.js',
    AGENT_BROWSER_NO_WEBMCP: '1',
    AGENT_BROWSER_DEFAULT_TIMEOUT: String(STEP_MS),
  };
  return {
    name: browserName(home, browser.key),
    Image: image,
    Cmd: ['node', '/opt/fetch/kennel/browser/main.ts', String(PROXY_PORT), String(browser.idleMs)],
    Env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
    WorkingDir: EMPTY_HOME,
    User: `${user.uid}:${user.gid}`,
    Hostname: 'browser',
    Labels: {
      [LABEL.home]: home,
      [LABEL.browser]: browser.key,
      [LABEL.conversation]: browser.conversation,
      ...(browser.workspace !== null && { [LABEL.workspace]: browser.workspace }),
      [LABEL.until]: String(Date.now() + LIFE_MS),
    },
    HostConfig: hostConfig({
      limits,
      user,
      emptyHome: EMPTY_HOME,
      output: 'short',
      mounts: [mount(browser.gate, `${INSIDE.run}/gate`, true), ...system],
    }),
  };
}

interface ExecResult {
  code: number | null;
  stdout: string;
  stderr: string;
  /** output was longer than `maxOutput` */
  cut: boolean;
}

/**
 * Runs one program in a container that is already running. The program is killed at the end of its time, also when
 * nobody waits for it any more.
 */
export async function execIn(
  { docker, patient }: Engine,
  container: string,
  argv: readonly string[],
  {
    stdin = '',
    timeoutMs,
    maxOutput,
    signal,
  }: { stdin?: string | Buffer; timeoutMs: number; maxOutput: number; signal?: AbortSignal },
): Promise<ExecResult> {
  const seconds = String(Math.ceil(timeoutMs / 1000));
  const exec = await patient.getContainer(container).exec({
    Cmd: ['timeout', '--signal=KILL', seconds, ...argv],
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
  });
  const stream = await exec.start({ hijack: true, stdin: true });
  const cancel = () => stream.destroy(signal!.reason);
  signal?.addEventListener('abort', cancel, { once: true });
  try {
    signal?.throwIfAborted();
    const [out, err] = [new KeptOutput(maxOutput), new KeptOutput(maxOutput)];
    const demux = new Demux({ stdout: (bytes) => out.push(bytes), stderr: (bytes) => err.push(bytes) });
    stream.on('data', (chunk: Buffer) => demux.push(chunk));
    const read = finished(stream, { writable: false });
    stream.end(stdin);
    await read;
    const { ExitCode } = await docker.getExec(exec.id).inspect();
    return { code: ExitCode, stdout: out.text(), stderr: err.text(), cut: out.cut };
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  } finally {
    signal?.removeEventListener('abort', cancel);
  }
}
