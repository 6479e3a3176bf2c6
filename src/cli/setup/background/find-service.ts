import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import { type Config, fetchHome, serviceEnvironment } from '../../../config.ts';
import { isAlive } from '../../instance/home/process-identity.ts';
import { readRunState } from '../../instance/home/state-file.ts';
import { logFile } from '../../instance/logs/role-log.ts';
import { ENTRY, longestStopMs, ownCommand } from '../../instance/supervisor/programs.ts';
import { launchdService } from './launchd.ts';
import { type Launch, type Service, ServiceError } from './service.ts';
import { systemdService } from './systemd.ts';

/** Named after its home, unless that is the usual one, so that two homes have two services. */
export function serviceName(home: string): string {
  if (home === fetchHome({}, {})) return 'fetch';
  const readable = basename(home)
    .replace(/[^A-Za-z0-9]/g, '')
    .slice(0, 30);
  return `fetch-${readable || 'home'}-${createHash('sha256').update(home).digest('hex').slice(0, 8)}`;
}

/** The service of this home, installed or not; null when there is no known service manager. */
export function serviceOf(home: string): Service | null {
  const name = serviceName(home);
  if (process.platform === 'darwin') return launchdService(name);
  return existsSync('/run/systemd/system') ? systemdService(name) : null;
}

export const installedService = (home: string): Service | null => {
  const service = serviceOf(home);
  return service && existsSync(service.file) ? service : null;
};

/**
 * `fetch start` with this runtime and program, and only the home as a setting. Other settings are read from the home's
 * .env, so no secret gets into the service file.
 */
export function launchOf(config: Config): Launch {
  const home = config.FETCH_HOME;
  const { file, args } = ownCommand(['start'], {});
  return {
    ...{ file, args, env: { ...serviceEnvironment(), FETCH_HOME: home } },
    ...{ folder: process.cwd(), log: logFile(home, 'fetch'), stopSeconds: Math.ceil(longestStopMs(config) / 1000) + 5 },
  };
}

/** Advice for a machine without a known service manager. */
export function withoutManager(config: Config): ServiceError {
  const { file, env } = launchOf(config);
  const up = [file, ENTRY, 'up', '--home', config.FETCH_HOME]
    .map((part) => (/^[\w./:\\-]+$/.test(part) ? part : `"${part}"`))
    .join(' ');
  if (process.platform === 'win32')
    return new ServiceError(
      `Fetch cannot install a service on Windows. This task does it (not tried): schtasks /create /tn ${serviceName(config.FETCH_HOME)} /sc onlogon /tr '${up}'`,
    );
  return new ServiceError(
    `No systemd runs here. Let what starts other programs on this machine start Fetch: with cron, "crontab -e" and the line\n  @reboot PATH="${env.PATH}" ${up}\n"fetch up" starts it in the background now.`,
  );
}

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
