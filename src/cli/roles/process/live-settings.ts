import { join } from 'node:path';
import { fileStamp } from '../../../adapters/file-stamp.ts';
import { type Config, ConfigError, type Reloaded, reloadConfig } from '../../../config.ts';
import { createLog, setLogLevel } from '../../../log.ts';

const LOOK_MS = 1_000;

/** Applies changes of FETCH_HOME/.env in this process, and logs them. Returns a function that ends it. */
export function watchSettings(config: Config, changed: (names: string[]) => void = () => {}): () => void {
  const file = join(config.FETCH_HOME, '.env');
  const log = createLog('settings', config.LOG_LEVEL);
  let waiting = '';
  // what differs from the start is not changed now
  let first = true;
  const look = () => {
    const done = reload(config, (problem) => log.warn(problem));
    if (done === null) return;
    setLogLevel(config.LOG_LEVEL);
    if (done.updated.length > 0) log.info({ settings: done.updated }, 'applied settings that were changed');
    if (done.restart.length > 0 && String(done.restart) !== waiting)
      log.warn({ settings: done.restart }, 'these changed settings need a restart');
    if (!first) changed([...done.updated, ...(String(done.restart) === waiting ? [] : done.restart)]);
    waiting = String(done.restart);
  };
  // a role that was restarted begins with the settings of the start; its fellows have what was changed since
  let seen: string | null = null;
  const lookAgain = () => {
    // taken before the file is read: what is written meanwhile is another file
    const now = fileStamp(file);
    if (now === seen) return;
    seen = now;
    look();
  };
  lookAgain();
  first = false;
  // a watch of the file itself ends when an editor puts another one in its place
  const timer = setInterval(lookAgain, LOOK_MS).unref();
  return () => clearInterval(timer);
}

/** A broken file must not end what runs: the settings stay as they are. */
function reload(config: Config, tell: (problem: string) => void): Reloaded | null {
  try {
    return reloadConfig(config);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    tell(`${error.message}\nNothing was changed.`);
    return null;
  }
}
