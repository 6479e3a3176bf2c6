import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { childEnvironment } from '../../../config.ts';
import { type Launch, programsAmong, type Service, ServiceError, type ServiceState } from './service.ts';

/** Longest start time of a user manager after lingering was turned on. */
const MANAGER_MS = 10_000;

interface Unit {
  name: string;
  file: string;
  /** a unit of the machine, not of a user */
  system: boolean;
  env: NodeJS.ProcessEnv;
}

/** A unit of the user's own manager; for root, a unit of the system. */
export function systemdService(name: string): Service {
  const unit = unitOf(name);
  return {
    name: unit.name,
    file: unit.file,
    install: (launch) => install(unit, launch),
    async remove() {
      await call(unit, 'disable', unit.name).catch(() => {});
      rmSync(unit.file, { force: true });
      await call(unit, 'daemon-reload').catch(() => {});
    },
    async state() {
      const shown = await call(unit, 'show', unit.name, '--property=MainPID,ActiveState,SubState').catch(() => '');
      return stateOf(Object.fromEntries(shown.split('\n').map((line) => line.split('=', 2) as [string, string])));
    },
    async start() {
      // it may have failed too often for the manager to start it
      await call(unit, 'reset-failed', unit.name).catch(() => {});
      await steer(unit, 'start', unit.name);
    },
    stop: () => steer(unit, 'stop', '--no-block', unit.name),
    programs: () => programsOf(readFileSync(unit.file, 'utf8')),
    bound: () =>
      lingers(unit)
        ? null
        : {
            text: `the service ${unit.name} starts when ${userInfo().username} logs in and ends at log-out, because this user does not linger`,
            mend: `sudo loginctl enable-linger ${userInfo().username}`,
          },
  };
}

const userId = (): number => process.getuid?.() ?? 0;

function unitOf(service: string): Unit {
  const name = `${service}.service`;
  const system = userId() === 0;
  const env = childEnvironment({});
  const file = system
    ? join('/etc/systemd/system', name)
    : join(env.XDG_CONFIG_HOME || join(homedir(), '.config'), 'systemd', 'user', name);
  return { name, file, system, env };
}

async function install(unit: Unit, launch: Launch): Promise<void> {
  mkdirSync(dirname(unit.file), { recursive: true });
  writeFileSync(unit.file, unitText(launch, unit.system), { mode: 0o644 });
  if (!lingers(unit))
    await promisify(execFile)('loginctl', ['--no-ask-password', 'enable-linger'], {
      env: unit.env,
      timeout: 20_000,
    }).catch(() => {});
  await reachManager(unit);
  await steer(unit, 'enable', unit.name);
}

const lingers = ({ system }: Unit): boolean =>
  system || existsSync(join('/var/lib/systemd/linger', userInfo().username));

async function call({ system, env }: Unit, ...args: string[]): Promise<string> {
  const runtime = `/run/user/${userId()}`;
  // a shell of su or cron does not know where the user's manager is
  const place = !system && existsSync(runtime) ? { XDG_RUNTIME_DIR: runtime } : {};
  return (
    await promisify(execFile)('systemctl', [...(system ? [] : ['--user']), ...args], {
      env: { ...env, ...place },
      timeout: 90_000,
    })
  ).stdout;
}

async function steer(unit: Unit, ...args: string[]): Promise<void> {
  await call(unit, ...args).catch((error) => {
    throw new ServiceError(`systemctl ${args.join(' ')}: ${(error.stderr || error.message).trim()}`);
  });
}

async function reachManager(unit: Unit): Promise<void> {
  for (const end = Date.now() + (lingers(unit) ? MANAGER_MS : 0); ; await pause(100)) {
    try {
      return void (await call(unit, 'daemon-reload'));
    } catch (error) {
      if (Date.now() < end) continue;
      throw new ServiceError(
        `The service manager of this user cannot be reached (${((error as { stderr?: string }).stderr || (error as Error).message).trim()}). Log in as this user, not with su or sudo, or run: sudo loginctl enable-linger ${userInfo().username}. Then run "fetch up --at-login" again.`,
      );
    }
  }
}

function stateOf(shown: Partial<Record<string, string>>): ServiceState {
  const pid = Number(shown.MainPID) || null;
  if (shown.ActiveState === 'active') return { pid, state: 'running' };
  if (shown.ActiveState === 'failed' || shown.SubState === 'auto-restart') return { pid: null, state: 'failed' };
  return { pid, state: shown.ActiveState === 'activating' ? 'starting' : 'stopped' };
}

/** @param system a unit of the machine, not of a user */
export function unitText(launch: Launch, system: boolean): string {
  const { file, args, env, folder, log, stopSeconds } = launch;
  return `# written by "fetch up --at-login"; "fetch up --not-at-login" removes it
[Unit]
Description=Fetch (${specifiers(env.FETCH_HOME ?? '')})
${system ? 'After=network-online.target docker.service\nWants=network-online.target\n' : ''}
[Service]
Type=exec
ExecStart=${[file, ...args].map((part) => quoted(part).replaceAll('$', '$$$$')).join(' ')}
${Object.entries(env)
  .map(([name, value]) => `Environment=${quoted(`${name}=${value}`)}`)
  .join('\n')}
WorkingDirectory=-${specifiers(folder)}
StandardOutput=append:${specifiers(log)}
StandardError=append:${specifiers(log)}
Restart=on-failure
RestartSec=10
# the configuration has a problem: trying again does not mend it
RestartPreventExitStatus=2
# a role that ends for want of memory is started again by ours
OOMPolicy=continue
KillMode=mixed
TimeoutStopSec=${stopSeconds}

[Install]
WantedBy=${system ? 'multi-user.target' : 'default.target'}
`;
}

/** The programs in ExecStart. */
const programsOf = (unit: string): string[] => {
  const line = unit.split('\n').find((each) => each.startsWith('ExecStart=')) ?? '';
  const quotedParts = line.split('"').filter((_, index) => index % 2 === 1);
  return programsAmong(quotedParts.map((part) => part.replaceAll('%%', '%').replaceAll('$$', '$')));
};

const specifiers = (text: string): string => {
  if (/[\n\r]/.test(text))
    throw new ServiceError(`A unit of systemd cannot hold the line break in ${JSON.stringify(text)}.`);
  return text.replaceAll('%', '%%');
};
const quoted = (text: string): string => `"${specifiers(text).replace(/["\\]/g, '\\$&')}"`;
