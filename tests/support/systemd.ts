import { execFile, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { temporalCache } from '../../src/cli/instance/instance.ts';
import { serviceName } from '../../src/cli/setup/background/find-service.ts';
import { childEnvironment, loadConfig } from '../../src/config.ts';
import { provideTemporal } from '../../temporal/server.ts';
import { requireDocker } from './docker.ts';
import { until } from './until.ts';

const CLONE = fileURLToPath(new URL('../..', import.meta.url));
const IMAGE = 'fetch-test-systemd';
/** a name that the files of systemd would read as something else */
const HOME = '/home/ada/my 50% of $HOME';
const FETCH = '/opt/fetch/node_modules/node/bin/node /opt/fetch/bin/fetch.js';

/** A log-out is seen at once. Where the engine mounts the groups read-only, systemd cannot make its own. */
const dockerfile = (base: string): string => `FROM ${base}
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends systemd systemd-sysv dbus dbus-user-session libpam-systemd git \\
 && apt-get clean && rm -rf /var/lib/apt/lists/* && mkdir -p /etc/systemd/logind.conf.d && systemctl mask getty.target
RUN printf '[Login]\\nUserStopDelaySec=0\\n' > /etc/systemd/logind.conf.d/test.conf && useradd --create-home --shell /bin/bash ada
STOPSIGNAL SIGRTMIN+3
ENTRYPOINT []
CMD ["/bin/sh", "-c", "if [ -e /sys/fs/cgroup/cgroup.controllers ]; then mount -o remount,rw /sys/fs/cgroup; fi; exec /sbin/init"]
`;

/** The unit of systemd that is ada's instance. */
export const UNIT = `${serviceName(HOME)}.service`;

/** A machine with systemd and a user `ada`, in a container without a network; this clone is at /opt/fetch. */
export interface Machine {
  /** runs as root, outside of any log-in */
  root(command: string): Promise<string>;
  /** a log-in of ada that lasts as long as the command; standard output and error. `fetch` is ours */
  login(command: string): Promise<string>;
  /** a log-in that lasts until `logout` */
  stay(): Promise<void>;
  /** ends every log-in */
  logout(): Promise<void>;
  reboot(): Promise<void>;
  close(): Promise<void>;
}

const docker = async (args: string[], input?: string): Promise<string> => {
  const running = promisify(execFile)('docker', args, { env: childEnvironment({}), maxBuffer: 64 * 1024 * 1024 });
  if (input !== undefined) running.child.stdin!.end(input);
  const { stdout, stderr } = await running;
  return stdout + stderr;
};

export async function startMachine(): Promise<Machine> {
  await requireDocker();
  const env = childEnvironment({});
  await docker(['build', '--quiet', '--tag', IMAGE, '-'], dockerfile(loadConfig().FETCH_KENNEL_BASE));
  const temporal = await provideTemporal({ home: '/nonexistent', cache: temporalCache(env), env, install: false });
  const id = (
    await docker([
      ...['run', '--detach', '--network', 'none', '--cgroupns', 'private', '--tmpfs', '/run', '--tmpfs', '/run/lock'],
      ...['--cap-add', 'SYS_ADMIN', '--security-opt', 'seccomp=unconfined', '--security-opt', 'apparmor=unconfined'],
      ...['--volume', `${CLONE}:/opt/fetch:ro`, '--volume', `${temporal.path}:/usr/local/bin/temporal:ro`, IMAGE],
    ])
  ).trim();
  const root = (command: string, input?: string) =>
    docker(['exec', ...(input === undefined ? [] : ['--interactive']), id, 'sh', '-c', command], input);
  const booted = () =>
    until('the machine has booted', async () =>
      /running|degraded/.test(await root('systemctl is-system-running || true')),
    );
  await root(
    `cat > /usr/local/bin/fetch && chmod 755 /usr/local/bin/fetch`,
    `#!/bin/sh\nexport FETCH_HOME='${HOME}'\nexec ${FETCH} "$@"\n`,
  );
  await booted();
  const sessions = () => root('loginctl list-sessions --no-legend');
  return {
    root,
    login: (command) => docker(['exec', id, 'su', '-', 'ada', '-c', command]),
    async stay() {
      spawn('docker', ['exec', id, 'su', '-', 'ada', '-c', 'exec sleep infinity'], { env, stdio: 'ignore' });
      await until('ada is logged in', async () => (await sessions()).includes('ada'));
    },
    async logout() {
      for (const line of (await sessions()).trim().split('\n'))
        await root(`loginctl terminate-session ${line.trim().split(/\s+/)[0]}`);
      await until('nobody is logged in', async () => (await sessions()).trim() === '');
    },
    async reboot() {
      await docker(['restart', '--time', '100', id]);
      await booted();
    },
    close: async () => void (await docker(['rm', '--force', '--volumes', id])),
  };
}
