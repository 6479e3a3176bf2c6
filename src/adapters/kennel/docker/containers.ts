import { createHash } from 'node:crypto';
import { realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type Docker from 'dockerode';

/** Names and labels of our containers, and how to end one for certain. */

export const LABEL = {
  /** hash of FETCH_HOME, so that two instances on one engine leave each other's containers alone */
  home: 'fetch.home',
  task: 'fetch.task',
  run: 'fetch.run',
  /** number of a run, or purpose of a command */
  step: 'fetch.step',
  harness: 'fetch.harness',
  /** only runs: the value of `TOKEN` in the container's environment */
  token: 'fetch.token',
  /** commands and browsers: epoch ms after which nobody waits for it any more */
  until: 'fetch.until',
  /** only browsers: the chat, as a hash */
  browser: 'fetch.browser',
  /** only browsers: the thread, and where its conversation begins */
  conversation: 'fetch.conversation',
  /**
   * only apps: its id, the call that started it, its workspace on the host, its command line, and the port of its
   * preview
   */
  app: 'fetch.app',
  call: 'fetch.call',
  /** also browsers that are for the apps of this workspace */
  workspace: 'fetch.workspace',
  command: 'fetch.command',
  port: 'fetch.port',
  /** only apps: it runs on a copy, and nobody but its caller knows of it */
  copy: 'fetch.copy',
} as const;

/** Label of the containers of one home, and of one host when several share a home on a common disk. */
export function homeLabel(home: string, host = 'local'): string {
  let path = resolve(home);
  try {
    path = realpathSync(path);
  } catch {
    // not made yet
  }
  return createHash('sha256')
    .update(host === 'local' ? path : `${path}\n${host}`)
    .digest('hex')
    .slice(0, 12);
}

/** A run has one name, so that the engine refuses the second of two simultaneous starts. */
export function runName(home: string, taskId: string, step: number): string {
  const safe = taskId.replace(/[^a-zA-Z0-9_.-]/g, '_').slice(0, 80);
  const unique = safe === taskId ? '' : `-${createHash('sha256').update(taskId).digest('hex').slice(0, 8)}`;
  return `fetch-${home}-${safe}${unique}-${step}`;
}

export const statusOf = (error: unknown): number | undefined => (error as { statusCode?: number }).statusCode;

/** Null when there is no such container. */
export async function inspectOrNull(docker: Docker, idOrName: string): Promise<Docker.ContainerInspectInfo | null> {
  try {
    return await docker.getContainer(idOrName).inspect();
  } catch (error) {
    if (statusOf(error) === 404) return null;
    throw error;
  }
}

const GONE_MS = 30_000;

/**
 * Kills every process, removes the container, and checks that it is gone. Resolves with whether it was running. Throws
 * when the engine still shows it after 30 s, because nobody may believe then that it has ended.
 */
export async function destroy(docker: Docker, idOrName: string): Promise<boolean> {
  const container = docker.getContainer(idOrName);
  const before = await inspectOrNull(docker, idOrName);
  if (!before) return false;
  const deadline = Date.now() + GONE_MS;
  let reason: unknown;
  for (;;) {
    try {
      // 404: gone; 409: not running, or already being removed
      await container.kill({ signal: 'SIGKILL' }).catch(unless(404, 409, 500));
      // a frozen process gets its signal when it is thawed, before it runs any instruction
      if (before.State.Paused) await container.unpause().catch(unless(404, 409, 500));
      await container.remove({ force: true, v: true }).catch(unless(404, 409));
    } catch (error) {
      reason = error;
    }
    if (!(await inspectOrNull(docker, before.Id))) return before.State.Running;
    if (Date.now() > deadline)
      throw new Error(
        `The engine could not end container ${before.Name.slice(1)}; try it by hand: docker rm -f ${before.Id.slice(0, 12)}`,
        { cause: reason },
      );
    await pause(100);
  }
}

/** Ignores an answer of the engine with one of these codes. */
export const unless =
  (...codes: number[]) =>
  (error: unknown): void => {
    if (!codes.includes(statusOf(error) ?? 0)) throw error;
  };

const HEADER = 8;

/**
 * Separates stdout and stderr in the engine's stream of a container without a terminal. A frame has one byte for the
 * stream, three empty ones, four for the length, then the content. A frame may span chunks. It is not dockerode's
 * `demuxStream`, because that waits for whole frames and copies what it holds with each chunk.
 */
export class Demux {
  readonly #sinks: { stdout: (bytes: Buffer) => void; stderr: (bytes: Buffer) => void };
  readonly #header = Buffer.alloc(HEADER);
  #headerBytes = 0;
  /** bytes left in the current frame */
  #left = 0;

  constructor(sinks: { stdout: (bytes: Buffer) => void; stderr: (bytes: Buffer) => void }) {
    this.#sinks = sinks;
  }

  push(chunk: Buffer): void {
    for (let at = 0; at < chunk.length; ) {
      if (this.#left === 0) {
        const taken = chunk.copy(this.#header, this.#headerBytes, at, at + HEADER - this.#headerBytes);
        this.#headerBytes += taken;
        at += taken;
        if (this.#headerBytes < HEADER) return;
        this.#headerBytes = 0;
        this.#left = this.#header.readUInt32BE(4);
        continue;
      }
      const content = chunk.subarray(at, at + this.#left);
      this.#sinks[this.#header[0] === 2 ? 'stderr' : 'stdout'](content);
      this.#left -= content.length;
      at += content.length;
    }
  }
}
