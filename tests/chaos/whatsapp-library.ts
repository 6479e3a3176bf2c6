import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { until } from '../support/until.ts';
import type { WhatsAppFixture } from '../support/whatsapp/fixture.ts';

/** The library as its documentation shows it, in a process that is started again whenever it dies. */
export interface Library {
  pid(): number | null;
  kill(): boolean;
  /** how often a phone had to link it */
  linked(): number;
  close(): Promise<void>;
}

const CHILD = fileURLToPath(new URL('./whatsapp-default.ts', import.meta.url));

/** @param mute it only receives, and answers nothing */
export async function startLibrary(fixture: WhatsAppFixture, mute = false): Promise<Library> {
  const folder = mkdtempSync(join(tmpdir(), 'fetch-default-'));
  const args = [
    '--folder',
    folder,
    '--url',
    fixture.url,
    '--root',
    fixture.noiseRootKey,
    '--ca',
    fixture.env.NODE_EXTRA_CA_CERTS!,
    ...(mute ? ['--mute'] : []),
  ];
  let child: ChildProcess | null = null;
  let linked = 0;
  let opened = 0;
  let stopping = false;
  const start = (): void => {
    const next = fork(CHILD, args, { stdio: 'ignore' });
    child = next;
    next.on('message', ({ qr, open }: { qr?: string; open?: boolean }) => {
      if (open) opened += 1;
      if (!qr) return;
      // a stale one is refused; the next one comes
      fixture.phone.scan(qr).then(
        () => {
          linked += 1;
        },
        () => {},
      );
    });
    next.on('exit', () => {
      if (child === next) child = null;
      if (useless(folder)) for (const name of readdirSync(folder)) rmSync(join(folder, name), { force: true });
      if (!stopping) start();
    });
  };
  const close = async (): Promise<void> => {
    stopping = true;
    const last = child;
    if (last) {
      const ended = once(last, 'exit');
      last.kill('SIGKILL');
      await ended;
    }
    rmSync(folder, { recursive: true, force: true });
  };
  start();
  await until('the library is linked', () => opened > 0 && linked > 0, 60_000).catch(async (error) => {
    await close();
    throw error;
  });
  return { pid: () => child?.pid ?? null, kill: () => child?.kill('SIGKILL') ?? false, linked: () => linked, close };
}

/** Half written or never paired: a person would have to delete the folder and link the device again. */
function useless(folder: string): boolean {
  try {
    return !JSON.parse(readFileSync(join(folder, 'creds.json'), 'utf8')).me;
  } catch {
    return true;
  }
}
