import type { Config } from '../../config.ts';
import { isAlive } from './home/process-identity.ts';
import { type RoleStatus, readRunState, type Urls } from './home/state-file.ts';
import { urlsOf } from './urls.ts';

interface StatusReport {
  roles: RoleStatus[];
  home: string;
  urls: Urls;
}

/** The running processes of this home. When the supervisor is gone, its roles are `stopped`, whatever is recorded. */
export async function readStatus(config: Config): Promise<StatusReport & { running: boolean }> {
  const home = config.FETCH_HOME;
  const state = readRunState(home);
  const running = state !== null && (await isAlive(state.supervisor));
  const roles = (state?.roles ?? []).map(
    ({ startTime: _, ...role }): RoleStatus =>
      running || role.state === 'external' ? role : { ...role, pid: null, state: 'stopped' },
  );
  return { running, roles, home, urls: state?.urls ?? urlsOf(config) };
}
