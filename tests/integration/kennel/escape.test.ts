import { execFileSync } from 'node:child_process';
import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import {
  copyFileSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createGate, type Gate } from '../../../src/adapters/kennel/gate/gate.ts';
import type { CommandResult, KennelCommand } from '../../../src/adapters/kennel/kennel.ts';
import { type OpenKennel, openKennel } from '../../../src/adapters/kennel/open-kennel.ts';
import { loadConfig } from '../../../src/config.ts';
import { usageOf } from '../../../src/store/kennel/tasks/usage.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';
import type { Attempts, Found } from '../../support/escape-probe.ts';
import { type Providers, startProviders } from '../../support/providers/server.ts';
import { until } from '../../support/until.ts';

/**
 * From inside of containers as the kennel makes them, on a real engine, beside a whole running instance. What is shown
 * to be out of reach is shown to be there as well: each listener is reached from the host in the same run.
 */

const KEYS = {
  ANTHROPIC_API_KEY: 'real-anthropic-key-7f3a',
  GEMINI_API_KEY: 'real-gemini-key-9c1d',
  OPENAI_API_KEY: 'real-openai-key-2b8e',
  GH_TOKEN: 'real-github-token-4d6f',
};
const PROBE = fileURLToPath(new URL('../../support/escape-probe.ts', import.meta.url));

let app: TestApp;
let providers: Providers;
let home: string;
let kennel: OpenKennel;
let gate: Gate;
let workspace: string;
let gateFolder: string;
const neighbours: Array<{ remove(options: { force: true }): Promise<unknown> }> = [];

beforeAll(async () => {
  providers = await startProviders();
  app = await startTestApp(KEYS);
  home = mkdtempSync(join(tmpdir(), 'fetch-escape-'));
  const config = loadConfig({
    FETCH_HOME: home,
    FETCH_KENNEL_MEMORY_MB: '512',
    FETCH_KENNEL_PIDS: '96',
    FETCH_KENNEL_CPUS: '1',
  });
  kennel = openKennel(config);
  await kennel.provide('tools', () => {});
  workspace = join(home, 'workspaces', 'w');
  mkdirSync(workspace, { recursive: true });
  copyFileSync(PROBE, join(workspace, 'probe.ts'));
  gate = createGate({
    db: app.store.db,
    settings: {
      ...config,
      ...KEYS,
      ANTHROPIC_BASE_URL: providers.origin,
      GOOGLE_GEMINI_BASE_URL: providers.origin,
      OPENAI_BASE_URL: `${providers.origin}/v1`,
    },
    log: pino({ level: 'silent' }),
  });
  gateFolder = join(home, 'runs', 'task_a', 'gate');
  await newTask('task_a');
  await newTask('task_b');
  await gate.open({
    taskId: 'task_a',
    folder: gateFolder,
    budget: { tokens: 200, microUsd: 1_000_000, dayTokens: 1_000_000, dayMicroUsd: 1_000_000 },
    allow: ['registry.example'],
  });
  await gate.open({
    taskId: 'task_b',
    folder: join(home, 'runs', 'task_b', 'gate'),
    budget: { tokens: 1000, microUsd: 1_000_000, dayTokens: 1_000_000, dayMicroUsd: 1_000_000 },
    allow: [],
  });
}, 600_000);
afterAll(async () => {
  for (const leftOver of neighbours) await leftOver.remove({ force: true }).catch(() => {});
  await gate?.closeAll();
  await app?.close();
  await providers?.close();
  if (home) rmSync(home, { recursive: true, force: true });
});

async function newTask(id: string): Promise<void> {
  const threadId = await app.thread();
  const { chat_id } = await app.store.db
    .selectFrom('threads')
    .select('chat_id')
    .where('id', '=', threadId)
    .executeTakeFirstOrThrow();
  const ids = { id, chat_id, thread_id: threadId, turn_id: 'turn_1', call_id: `call_${id}`, workflow_id: `task/${id}` };
  const rest = {
    goal: 'g',
    agent: 'auto',
    harness: 'practice' as const,
    host: 'local',
    workspace: id,
    state: 'running' as const,
    timeout_ms: 60_000,
  };
  await app.store.db
    .insertInto('tasks')
    .values({ ...ids, ...rest })
    .execute();
}

const inside = (argv: string[], more: Partial<KennelCommand> = {}): Promise<CommandResult> =>
  kennel.command({
    workspace,
    argv,
    timeoutMs: 120_000,
    maxOutput: 1024 * 1024,
    label: 'escape',
    gate: gateFolder,
    ...more,
  });
const shell = (text: string, more: Partial<KennelCommand> = {}): Promise<CommandResult> =>
  inside(['bash', '-c', text], more);

async function probe(attempts: Partial<Attempts>): Promise<Found> {
  const none: Attempts = { tcp: [], udp: [], names: [], abstract: [], paths: [], writes: [], pids: [] };
  writeFileSync(join(workspace, 'attempts.json'), JSON.stringify({ ...none, ...attempts }), { mode: 0o644 });
  const result = await inside(['node', '/workspace/probe.ts', '/workspace/attempts.json']);
  if (result.code !== 0) throw new Error(`the probe ended with ${result.code}: ${result.stderr}`);
  return JSON.parse(result.stdout) as Found;
}

/** A TCP server on an address of the host that notes who came. */
async function listener(host: string): Promise<{ server: Server; port: number; visits: () => number }> {
  let visits = 0;
  const server = createServer((socket) => {
    visits += 1;
    socket.destroy();
  });
  server.listen(0, host);
  await once(server, 'listening');
  return { server, port: (server.address() as AddressInfo).port, visits: () => visits };
}

const reachable = (host: string, port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host, port });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });

const portOf = (url: string): number => Number(new URL(url.includes('://') ? url : `tcp://${url}`).port);
/** containers of this home that the engine still has */
const left = async (): Promise<number> =>
  (await kennel.engine.docker.listContainers({ all: true, filters: { label: ['fetch.step=escape'] } })).length;

describe('the network', () => {
  it('leads from a container to no service of the host, of this instance, of another container, nor of the internet', async () => {
    const { docker } = kennel.engine;
    const image = await kennel.images.provide('tools');
    const neighbour = await docker.createContainer({
      Image: image,
      Cmd: ['node', '-e', "require('net').createServer((s) => s.end('hi')).listen(8000, '0.0.0.0')"],
      Labels: { 'fetch.step': 'escape-neighbour' },
    });
    neighbours.push(neighbour);
    // its first container brings the bridge up
    await neighbour.start();
    const { IPAddress: neighbourAddress, Gateway: bridgeAddress } = (await neighbour.inspect()).NetworkSettings.Networks
      .bridge!;
    const addresses = Object.values(networkInterfaces())
      .flatMap((entries) => entries ?? [])
      .filter(({ address }) => !address.startsWith('fe80'))
      .map(({ address }) => address);
    expect(addresses).toEqual(expect.arrayContaining(['127.0.0.1', bridgeAddress]));
    const everywhere = await listener('0.0.0.0');
    const loopback = await listener('127.0.0.1');
    const bridge = await listener(bridgeAddress);
    const heard: string[] = [];
    const udp: UdpSocket = createSocket('udp4').on('message', (message) => heard.push(String(message)));
    udp.bind(0);
    await once(udp, 'listening');
    const abstract = `fetch-escape-${process.pid}`;
    const hidden = createServer().listen({ path: `\0${abstract}` });
    await once(hidden, 'listening');
    const instance = {
      runtime: app.baseUrl,
      status: app.statusUrl,
      temporal: app.temporalAddress,
      ui: app.temporalUi,
      model: app.model.baseUrl,
      providers: providers.origin,
    };
    const { rows } = await sql<{ port: number }>`select current_setting('port')::int as port`.execute(app.store.db);
    const ports = [...Object.values(instance).map(portOf), rows[0]!.port];
    for (const port of [...ports, loopback.port, everywhere.port])
      expect(await reachable('127.0.0.1', port), `port ${port} on the host`).toBe(true);
    expect(await reachable(bridgeAddress, bridge.port)).toBe(true);
    const before = [everywhere.visits(), loopback.visits(), bridge.visits()];

    try {
      await until('the neighbour can be reached from the host', () => reachable(neighbourAddress, 8000), 20_000);

      const targets = addresses.flatMap((host) =>
        [...ports, everywhere.port, loopback.port, bridge.port].map((port) => ({ host, port })),
      );
      const found = await probe({
        tcp: [
          ...targets,
          { host: neighbourAddress, port: 8000 },
          ...['169.254.169.254', '169.254.170.2', '100.100.100.200', 'fd00:ec2::254'].map((host) => ({
            host,
            port: 80,
          })),
          ...['1.1.1.1', '8.8.8.8', '2606:4700:4700::1111'].map((host) => ({ host, port: 443 })),
          { host: '127.0.0.1', port: 22 },
        ],
        udp: [
          ...addresses
            .map((host) => ({ host, port: udp.address().port }))
            .filter(({ host }) => host !== '127.0.0.1' && host !== '::1'),
          { host: '8.8.8.8', port: 53 },
        ],
        names: [
          'example.com',
          'www.debian.org',
          'host.docker.internal',
          'gateway.docker.internal',
          'metadata.google.internal',
        ],
        abstract: [abstract],
      });
      expect(found).toMatchObject({ tcp: [], udp: [], resolved: [], abstract: [], interfaces: ['lo'] });
      expect([everywhere.visits(), loopback.visits(), bridge.visits()]).toEqual(before);
      expect(heard).toEqual([]);
    } finally {
      for (const { server } of [everywhere, loopback, bridge]) server.close();
      hidden.close();
      udp.close();
    }
  });

  it('fails at once instead of letting a program wait', async () => {
    const startedAt = Date.now();
    const result = await shell('curl -sS --max-time 20 https://example.com; git ls-remote https://example.com/x.git');
    expect(result.stderr).toMatch(/resolve/i);
    expect(Date.now() - startedAt).toBeLessThan(15_000);
  });

  it('has no sockets but the two of the task, and they cannot be replaced', async () => {
    const found = await probe({
      paths: [
        '/var/run/docker.sock',
        '/run/docker.sock',
        '/run/containerd/containerd.sock',
        join(home, 'runs', 'task_b', 'gate', 'model.sock'),
      ],
    });
    expect(found.sockets).toEqual(['/run/fetch/gate/egress.sock', '/run/fetch/gate/model.sock']);
    expect(found.paths).toEqual([]);
    const result = await shell(
      'cd /run/fetch; rm -f gate/model.sock; touch gate/x; mv gate gone; ln -s /etc gate/y; ls gate; rmdir gate',
    );
    expect(result.stdout.trim().split('\n')).toEqual(['egress.sock', 'model.sock']);
    expect(result.stderr).toMatch(/Read-only file system/);
  });
});

describe('the keys', () => {
  it('defect 38: are in no file, no environment and no command line that a container can read', async () => {
    // the patterns come on standard input: as arguments they would find themselves
    const stdin = `${Object.values(KEYS).join('\n')}\n`;
    writeFileSync(join(workspace, 'decoy'), KEYS.GH_TOKEN);
    const search =
      'cat > /tmp/.patterns; exec 2>/dev/null; grep -rlF -f /tmp/.patterns --exclude=.patterns --exclude-dir=proc --exclude-dir=sys /; rm -f /tmp/.patterns; echo ---';
    const files = await shell(search, { stdin });
    // that the search finds a key where there is one
    expect(files.stdout.trim().split('\n')).toEqual(['/workspace/decoy', '---']);
    rmSync(join(workspace, 'decoy'));
    const { environment, processes } = await probe({});
    expect(processes.length).toBeGreaterThan(0);
    for (const key of Object.values(KEYS)) expect([...environment, ...processes].join('\n')).not.toContain(key);
    expect(environment.join('\n')).not.toMatch(/FETCH_|DATABASE_URL|TEMPORAL|API_KEY|TOKEN/);
  });

  it('work through the gate all the same, and the budget ends them', async () => {
    const client = `
      const http = require('http');
      const body = JSON.stringify({ model: 'claude-sonnet-4.5', max_tokens: 9, messages: [{ role: 'user', content: process.argv[1] }] });
      const call = http.request({ socketPath: '/run/fetch/gate/model.sock', path: '/anthropic/v1/messages', method: 'POST', headers: { 'x-api-key': 'sk-dummy-dummy-dummy' } }, (answer) => {
        let text = '';
        answer.on('data', (part) => (text += part)).on('end', () => console.log(answer.statusCode + ' ' + JSON.stringify(answer.headers) + text));
      });
      call.end(body);`;
    const first = await inside(['node', '-e', client, 'x'.repeat(1000)]);
    expect(first.stdout).toMatch(/^200 .*Practice/);
    expect(providers.requests().at(-1)).toMatchObject({ key: KEYS.ANTHROPIC_API_KEY });
    expect(first.stdout).not.toContain(KEYS.ANTHROPIC_API_KEY);
    await until('it is counted', async () => (await usageOf(app.store.db, 'task_a')).tokens >= 200, 5000);
    const second = await inside(['node', '-e', client, 'again']);
    expect(second.stdout).toMatch(/^402 .*budget for tokens of this task is used up/);
    expect(providers.requests()).toHaveLength(1);
  });

  it('and the proxy lets a container to no host that is not on the list, and to no private address', async () => {
    const proxied = `
      const net = require('net');
      const one = (target) => new Promise((done) => {
        const s = net.connect('/run/fetch/gate/egress.sock', () => s.write('CONNECT ' + target + ' HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n'));
        s.once('data', (text) => done(target + ' ' + String(text).split('\\r\\n')[0]));
        s.once('error', (error) => done(target + ' ' + error.code));
      });
      Promise.all(process.argv.slice(1).map(one)).then((lines) => { console.log(lines.join('\\n')); process.exit(0); });`;
    const targets = [
      'example.com:443',
      '169.254.169.254:80',
      '127.0.0.1:5432',
      '172.17.0.1:22',
      '[::1]:80',
      'registry.example:22',
      'localhost:80',
    ];
    const { stdout } = await inside(['node', '-e', proxied, ...targets]);
    const lines = stdout.trim().split('\n');
    expect(lines).toHaveLength(targets.length);
    for (const line of lines) expect(line).toMatch(/ HTTP\/1\.1 403 /);
  });
});

describe('rights', () => {
  it('defect 38: are none: no capability, none to be had, a filter of system calls, and not root', async () => {
    const { status } = await probe({});
    expect(status).toMatchObject({
      CapEff: '0000000000000000',
      CapPrm: '0000000000000000',
      CapBnd: '0000000000000000',
      NoNewPrivs: '1',
      Seccomp: '2',
    });
    expect(status.Uid).not.toMatch(/\b0\b/);
  });

  it('do not grow: no mount, no namespace, no other user, no device, no name, no clock', async () => {
    const result = await shell(
      [
        'mount -t tmpfs x /mnt && echo mounted',
        'mount --bind /workspace /mnt && echo bound',
        'umount /workspace && echo unmounted',
        'unshare -Ur true && echo unshared',
        'unshare -m true && echo unshared-mounts',
        'echo | su -c "id -u" root && echo su',
        'chown 0:0 /workspace/probe.ts && echo chowned',
        'cp /bin/bash /workspace/rootsh && chmod u+s /workspace/rootsh && chown root /workspace/rootsh && echo rooted',
        'mknod /tmp/sda b 8 0 && echo node',
        'chroot / true && echo chrooted',
        'hostname other && echo renamed',
        'date -s 2001-01-01 >/dev/null && echo late',
      ].join('; '),
    );
    expect(result.stdout).toBe('');
    expect(result.stderr).toMatch(/must be superuser|permission denied/i);
  });

  it('do not reach processes of the host', async () => {
    const { processes, signalled } = await probe({ pids: [process.pid, process.ppid, app.supervisor().pid!] });
    expect(signalled).toEqual([]);
    expect(processes.length).toBeLessThan(6);
    expect(processes.join('\n')).not.toMatch(/dockerd|postgres|temporal|vitest|systemd/);
  });

  it('do not include writing anywhere but to the workspace, the home and /tmp, nor devices of the host', async () => {
    const { written, devices } = await probe({
      writes: [
        '/workspace/ok',
        '/tmp/ok',
        '/home/kennel/ok',
        ...[
          '/etc/passwd',
          '/etc/x',
          '/usr/bin/x',
          '/opt/fetch/kennel/runner/main.ts',
          '/var/tmp/x',
          '/root/x',
          '/x',
          '/run/x',
          '/lib/x',
        ],
        ...[
          '/proc/sys/kernel/core_pattern',
          '/proc/sysrq-trigger',
          '/sys/kernel/uevent_helper',
          '/sys/fs/cgroup/memory/release_agent',
          '/proc/self/oom_score_adj_x',
        ],
      ],
    });
    expect(written).toEqual(['/workspace/ok', '/tmp/ok', '/home/kennel/ok']);
    expect(
      devices.filter((name) => /^(sd|vd|nvme|xvd|loop|dm-|mem|kmem|kmsg|kvm|vsock|fuse|net\/tun)/.test(name)),
    ).toEqual([]);
    const hidden = await shell(
      'head -c 8 /proc/kcore | wc -c; cat /proc/keys /proc/timer_list 2>/dev/null | wc -c; ls /sys/firmware 2>/dev/null | wc -l; dmesg >/dev/null 2>&1 && echo dmesg',
    );
    expect(hidden.stdout.trim().split(/\s+/).slice(0, 3)).toEqual(['0', '0', '0']);
  });
});

describe('the filter of system calls', () => {
  const families =
    'import socket\nfor family in range(1, 46):\n  for kind in (1, 2, 3, 5):\n    try:\n      socket.socket(family, kind).close(); print(family); break\n    except OSError: pass';

  it('lets a container make sockets of files, of addresses and of netlink, and no others: least of all AF_VSOCK, which no network holds', async () => {
    expect((await inside(['python3', '-c', families])).stdout.trim().split('\n')).toEqual(['1', '2', '10', '16']);
  });

  it("leaves what development needs: git, threads, child processes, a debugger of one's own processes", async () => {
    const work = [
      'git init -q /tmp/r && cd /tmp/r && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && git log --oneline | wc -l',
      "node -e \"new (require('worker_threads').Worker)('console.log(2)', { eval: true })\"",
      'python3 -c "import multiprocessing as m; print(m.Pool(2).map(abs, [-3])[0])"',
      'npm --version >/dev/null && echo 4',
      'python3 -c "import ctypes, os; print(5 if ctypes.CDLL(None).ptrace(0, 0, 0, 0) == 0 else \'no\')"',
    ];
    expect((await shell(work.join('; '))).stdout.match(/\w+/g)).toEqual(['1', '2', '3', '4', '5']);
  });
});

describe('a workspace', () => {
  it('has links that lead nowhere outside of its container', async () => {
    const secret = join(home, 'secret.txt');
    writeFileSync(secret, 'outside', { mode: 0o644 });
    symlinkSync(secret, join(workspace, 'to-file'));
    symlinkSync(home, join(workspace, 'to-folder'));
    symlinkSync('/', join(workspace, 'to-root'));
    symlinkSync('../../secret.txt', join(workspace, 'upwards'));
    const result = await shell(
      'cat to-file upwards to-folder/secret.txt ../secret.txt ../../secret.txt; ls to-folder/; echo changed > to-file; cat to-root/etc/hostname',
    );
    expect(result.stdout).not.toContain('outside');
    expect(result.stdout.trim()).toBe('kennel');
    expect(readFileSync(secret, 'utf8')).toBe('outside');
    expect((await probe({ paths: [home, secret, app.home, join(app.home, 'runtime-token')] })).paths).toEqual([]);
    for (const name of ['to-file', 'to-folder', 'to-root', 'upwards']) rmSync(join(workspace, name));
  });
});

describe('what a container takes', () => {
  it('is bounded in processes: a fork bomb stays in its container and ends with it', async () => {
    const counting =
      'import os,time\nn=0\ntry:\n  while n<5000:\n    if os.fork()==0: time.sleep(30); os._exit(0)\n    n+=1\nexcept OSError: pass\nprint(n, flush=True)\nos.kill(-1, 9)';
    const counted = await inside(['python3', '-c', counting]);
    expect(Number(counted.stdout.trim())).toBeGreaterThan(10);
    expect(Number(counted.stdout.trim())).toBeLessThan(96);
    const bomb = await shell('bomb() { bomb | bomb & }; bomb; sleep 60', { timeoutMs: 4000 });
    expect(bomb.timedOut).toBe(true);
    expect(await left()).toBe(0);
    expect((await shell('echo alive')).stdout.trim()).toBe('alive');
  });

  it('is bounded in memory, also through /tmp', async () => {
    const bomb = await inside(['python3', '-c', 'a=[]\nwhile True: a.append(bytearray(16*1024*1024))']);
    expect(bomb).toMatchObject({ outOfMemory: true, code: 137 });
    const disk = await shell('head -c 2G /dev/zero > /tmp/big; stat -c %s /tmp/big');
    expect(Number(disk.stdout.trim() || 0)).toBeLessThanOrEqual(512 * 1024 * 1024);
    expect(await left()).toBe(0);
  });

  it('is bounded in output: a gigabyte passes by without being kept', async () => {
    let seen = 0;
    const before = process.memoryUsage.rss();
    const result = await shell("yes 'a line of output that nobody reads' | head -c 1G; echo last", {
      maxOutput: 64 * 1024,
      onOutput: (_, text) => {
        seen += text.length;
      },
    });
    expect(result).toMatchObject({ code: 0, cut: true });
    expect(seen).toBe(1024 ** 3 + 'last\n'.length);
    expect(result.stdout.length).toBeLessThan(80 * 1024);
    expect(result.stdout.endsWith('last\n')).toBe(true);
    expect(process.memoryUsage.rss() - before).toBeLessThan(400 * 1024 * 1024);
  });

  it('ends by the clock though it ignores every signal that it can, and is gone when that is said', async () => {
    const startedAt = Date.now();
    const result = await shell(
      "trap '' TERM INT HUP QUIT; (trap '' TERM; setsid sleep 1000) & while :; do sleep 1; done",
      { timeoutMs: 2000 },
    );
    expect(result.timedOut).toBe(true);
    expect(Date.now() - startedAt).toBeLessThan(15_000);
    expect(await left()).toBe(0);
    expect(execFileSync('ps', ['-eo', 'args']).toString()).not.toContain('sleep 1000');
  });
});

describe('the container of a run', () => {
  it('has the same walls: what its agent runs gets no further', async () => {
    const runFolder = join(home, 'runs', 'task_b');
    const spec = {
      version: 1 as const,
      taskId: 'task_b',
      step: 1,
      harness: 'practice' as const,
      sessionId: null,
      model: null,
      permissions: 'run' as const,
      holdMs: 60_000,
    };
    const attempts: Partial<Attempts> = {
      tcp: [
        { host: '172.17.0.1', port: portOf(app.baseUrl) },
        { host: '169.254.169.254', port: 80 },
      ],
      names: ['example.com'],
    };
    writeFileSync(
      join(workspace, 'attempts.json'),
      JSON.stringify({
        udp: [],
        abstract: [],
        paths: [home],
        writes: ['/etc/x', '/run/fetch/spec.json', '/run/fetch/commands.ndjson'],
        pids: [process.pid],
        ...attempts,
      }),
    );
    writeFileSync(
      join(workspace, 'try.sh'),
      [
        'node /workspace/probe.ts /workspace/attempts.json > /workspace/found.json',
        'cd /run/fetch && mv gate old',
        'ln -sfn /etc /run/fetch/gate',
        'for name in spec.json commands.ndjson log.ndjson; do rm -f $name; mv $name old; ln -sf /etc/passwd $name; done',
        'true',
      ].join('\n'),
    );
    const prompt = 'run sh /workspace/try.sh';
    await kennel.start({ spec: { ...spec, prompt }, runFolder, workspace, env: {} });
    try {
      await until('the run has ended', async () => (await kennel.inspect('task_b', 1))?.state === 'exited', 60_000);
      const log = readFileSync(join(runFolder, 'log.ndjson'), 'utf8');
      expect(log).toContain('"type":"ended"');
      const found = JSON.parse(readFileSync(join(workspace, 'found.json'), 'utf8')) as Found;
      expect(found).toMatchObject({
        tcp: [],
        resolved: [],
        paths: [],
        written: [],
        signalled: [],
        interfaces: ['lo'],
        // the last one is that of its own runner, for setup scripts
        sockets: ['/run/fetch/gate/egress.sock', '/run/fetch/gate/model.sock', '/tmp/fetch-setup.sock'],
      });
      expect(found.status).toMatchObject({ CapBnd: '0000000000000000', NoNewPrivs: '1', Seccomp: '2' });
      for (const key of Object.values(KEYS)) expect(found.environment.join('\n')).not.toContain(key);
      // what the host reads and writes in the run folder is still what it was
      for (const name of ['spec.json', 'commands.ndjson', 'log.ndjson'])
        expect(lstatSync(join(runFolder, name)).isFile(), name).toBe(true);
      expect(lstatSync(join(runFolder, 'gate')).isDirectory()).toBe(true);
    } finally {
      await kennel.remove('task_b');
    }
  });

  it('leaves nothing in its run folder that the start of the next step would follow out of it', async () => {
    const runFolder = join(home, 'runs', 'task_b');
    const precious = join(home, 'precious.txt');
    writeFileSync(precious, 'precious', { mode: 0o600 });
    // what an agent of the first step could have made
    symlinkSync(precious, join(runFolder, `.spec-${process.pid}`));
    rmSync(join(runFolder, 'home'), { recursive: true, force: true });
    symlinkSync(home, join(runFolder, 'home'));
    const before = [lstatSync(precious).uid, lstatSync(home).uid];
    const rest = {
      harness: 'practice' as const,
      sessionId: null,
      model: null,
      permissions: 'run' as const,
      holdMs: 60_000,
    };
    await kennel.start({
      spec: { version: 1, taskId: 'task_b', step: 2, prompt: 'run true', ...rest },
      runFolder,
      workspace,
      env: {},
    });
    try {
      expect(readFileSync(precious, 'utf8')).toBe('precious');
      expect([lstatSync(precious).uid, lstatSync(home).uid]).toEqual(before);
      expect(JSON.parse(readFileSync(join(runFolder, 'spec.json'), 'utf8')).step).toBe(2);
    } finally {
      await kennel.remove('task_b');
    }
  });
});
