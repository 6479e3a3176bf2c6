import { isAlive } from '../../instance/home/process-identity.ts';
import { readRunState } from '../../instance/home/state-file.ts';
import { installedService } from './find-service.ts';

/** Who runs the instance of a home, and whether it starts again by itself. */
interface HowItRuns {
  /** `foreground`: a terminal, a container, a supervisor of the person's own. null: nothing runs */
  by: 'service' | 'background' | 'foreground' | null;
  pid: number | null;
  /** the supervisor's log, if it is ours */
  log: string | null;
  /** the installed service, by its manager's name */
  service: string | null;
  /** why an installed service does not run while nobody is logged in */
  bound: { text: string; mend: string | null } | null;
}

export async function howItRuns(home: string): Promise<HowItRuns> {
  const state = readRunState(home);
  const supervisor = state && (await isAlive(state.supervisor)) ? state.supervisor : null;
  const service = installedService(home);
  const log = (supervisor && state?.log) || null;
  return {
    by:
      supervisor === null
        ? null
        : (await service?.state())?.pid === supervisor.pid
          ? 'service'
          : log
            ? 'background'
            : 'foreground',
    pid: supervisor?.pid ?? null,
    log,
    service: service?.name ?? null,
    bound: service?.bound() ?? null,
  };
}

/** How it runs, in words. */
export function howText({ by, service }: HowItRuns): string {
  if (by === 'service') return `as the service ${service}`;
  if (by === 'foreground')
    return `in a terminal, a container or a service of your own${service ? `; at the next log-in the service ${service} starts it` : ''}`;
  return `in the background; ${service ? `at the next log-in the service ${service} starts it` : 'not started at log-in (fetch up --at-login)'}`;
}
