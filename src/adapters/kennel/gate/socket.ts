import { closeSync, constants, existsSync, fstatSync, lstatSync, mkdirSync, openSync, rmSync } from 'node:fs';
import type { Server } from 'node:net';
import { join, resolve } from 'node:path';

/** `sun_path` holds 108 bytes on Linux and 104 elsewhere, with a zero at the end. */
const MAX_PATH = 100;

/** A folder for sockets that is held open, so that a container gains nothing by changing its name. */
export interface SocketFolder {
  /**
   * Listens on a socket of this name, and replaces one that a killed process left. Any user may connect, because the
   * parent folders keep others out.
   */
  listen(server: Server, name: string): Promise<void>;
  has(name: string): boolean;
  close(): void;
}

/**
 * Opens `folder`, and creates it if needed. Throws when it is not a folder: a container may write there, and a symbolic
 * link would make us create and remove files wherever it points.
 */
export function openSocketFolder(folder: string): SocketFolder {
  const path = resolve(folder);
  mkdirSync(path, { recursive: true, mode: 0o755 });
  const fd = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  // short whatever the folder's name, and exactly the folder that was opened; only Linux has it
  const through = `/proc/self/fd/${fd}`;
  const base = existsSync(join(through, '.')) && fstatSync(fd).isDirectory() ? through : path;
  return {
    async listen(server, name) {
      const file = join(base, name);
      if (Buffer.byteLength(file) > MAX_PATH) {
        throw new Error(
          `${file} is too long for a socket (${Buffer.byteLength(file)} of ${MAX_PATH} bytes). Choose a shorter FETCH_HOME.`,
        );
      }
      rmSync(file, { force: true });
      await new Promise<void>((done, failed) => {
        server.once('error', failed);
        // `listen` binds before it returns, so the mode is right from the beginning; a later chmod could hit another
        // file
        const before = process.umask(0);
        try {
          server.listen(file, () => {
            server.off('error', failed);
            done();
          });
        } finally {
          process.umask(before);
        }
      });
    },
    has(name) {
      const entry = lstatSync(join(base, name), { throwIfNoEntry: false });
      return entry?.isSocket() ?? false;
    },
    close() {
      // servers remove their sockets through this descriptor when they close, so it is closed last
      closeSync(fd);
    },
  };
}
