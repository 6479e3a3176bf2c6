import { statfsSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { type EngineFacts, howToInstall } from '../../adapters/kennel/docker/engine.ts';
import { IMAGE_KINDS, type ImageKind } from '../../adapters/kennel/images/image-files.ts';
import type { KennelUnavailable } from '../../adapters/kennel/kennel.ts';
import { loginProblem } from '../../adapters/kennel/login.ts';
import { type OpenKennel, openKennel } from '../../adapters/kennel/open-kennel.ts';
import type { Config } from '../../config.ts';
import { loginsOf } from '../../domain/tasks/agents/agent-settings.ts';
import { loginWarning } from '../../domain/tasks/agents/agents.ts';
import type { Finding } from './finding.ts';

const finding = (
  name: string,
  state: Finding['state'],
  version: string | null,
  detail: string,
  mend: string | null = null,
): Finding => ({
  name,
  state,
  version,
  detail,
  mend,
});

/** Disk space for the images and the work of some tasks. */
const ROOM_BYTES = 5e9;

/** One line about coding tasks for `fetch doctor`. Never `missing`, because everything else works without them. */
export async function kennelFinding(config: Config): Promise<Finding> {
  try {
    const kennel = openKennel(config);
    const facts = await soon(kennel.engine.facts());
    const tools = await kennel.images.state('tools');
    return finding(
      'docker',
      'ok',
      facts.version,
      `coding tasks run in containers; ${tools ? 'their image is there' : 'the first task builds their image'}`,
    );
  } catch (error) {
    return finding(
      'docker',
      'warning',
      null,
      'no engine answers; coding tasks and commands need one, chats do not',
      mendOf(error as KennelUnavailable),
    );
  }
}

/** `fetch kennel doctor`: tries every part, the last one in a real container. */
export async function kennelFindings(config: Config): Promise<Finding[]> {
  let kennel: OpenKennel;
  let facts: EngineFacts;
  try {
    kennel = openKennel(config);
    facts = await soon(kennel.engine.facts());
  } catch (error) {
    return [finding('engine', 'missing', null, (error as Error).message, mendOf(error as Error)), ...logins(config)];
  }
  const { engine, images } = kennel;
  const findings = [
    finding(
      'engine',
      'ok',
      facts.version,
      `${facts.platform}, API ${facts.apiVersion}, cgroup ${facts.cgroup}, ${facts.storage}, at ${engine.address}`,
    ),
    isolation(facts),
    capacity(config, facts),
    disk(config.FETCH_HOME),
    ...logins(config),
  ];
  const states = new Map<ImageKind, { name: string; bytes: number } | null>();
  for (const kind of IMAGE_KINDS) states.set(kind, await images.state(kind));
  const wanted = new Set(config.FETCH_KENNEL_AGENTS.split(',').map((name) => name.trim()));
  for (const [kind, state] of states) {
    if (!state && kind !== 'tools' && !wanted.has(kind)) continue;
    const name = `image ${kind}`;
    if (state) findings.push(finding(name, 'ok', null, `${state.name}, ${Math.round(state.bytes / 1e6)} MB`));
    else
      findings.push(
        finding(
          name,
          'warning',
          null,
          'not built yet; the first task that needs it builds it',
          `fetch kennel build${kind === 'tools' ? '' : ` ${kind}`}`,
        ),
      );
  }
  if (states.get('tools')) findings.push(await trial(kennel));
  return findings;
}

function isolation({ security, cgroup }: EngineFacts): Finding {
  const name = 'isolation';
  if (security.includes('rootless') || security.includes('userns'))
    return finding(
      name,
      'warning',
      null,
      `the engine maps user ids (${security.join(', ')}): containers may not be able to write the folders that they are given`,
      'use an engine without rootless mode and userns-remap',
    );
  if (!security.includes('seccomp'))
    return finding(
      name,
      'warning',
      null,
      'the engine has no seccomp: containers may call everything of the kernel',
      'https://docs.docker.com/engine/security/seccomp',
    );
  return finding(name, 'ok', null, `${security.join(', ')}; cgroup ${cgroup}`);
}

function capacity(config: Config, { cpus, memoryBytes }: EngineFacts): Finding {
  const needed = config.FETCH_KENNEL_SLOTS * config.FETCH_KENNEL_MEMORY_MB;
  const there = Math.floor(memoryBytes / 1024 / 1024);
  const detail = `${config.FETCH_KENNEL_SLOTS} tasks at once of ${config.FETCH_KENNEL_MEMORY_MB} MB and ${config.FETCH_KENNEL_CPUS} processors; the engine has ${there} MB and ${cpus}`;
  if (needed <= there) return finding('capacity', 'ok', null, detail);
  const fitting = Math.max(1, Math.floor(there / config.FETCH_KENNEL_MEMORY_MB));
  return finding(
    'capacity',
    'warning',
    null,
    `${detail}: all of them at their limit do not fit`,
    `FETCH_KENNEL_SLOTS=${fitting}, or a smaller FETCH_KENNEL_MEMORY_MB`,
  );
}

function disk(home: string): Finding {
  try {
    const { bavail, bsize } = statfsSync(home);
    const free = bavail * bsize;
    const detail = `${Math.floor(free / 1e9)} GB free below ${home}`;
    return free >= ROOM_BYTES
      ? finding('room', 'ok', null, detail)
      : finding('room', 'warning', null, detail, 'make room: docker system prune, or another FETCH_HOME');
  } catch {
    return finding('room', 'ok', null, `${home} is made by the first start`);
  }
}

/** Never `ok`, because a log-in inside a container is less safe than a key outside. */
const logins = (config: Config): Finding[] =>
  [...loginsOf(config.FETCH_KENNEL_LOGINS)].map(([name, path]) => {
    const problem = loginProblem(name, path);
    return problem
      ? finding(
          `log-in ${name}`,
          'missing',
          null,
          problem,
          `log in with ${name} on this host, or take it out of FETCH_KENNEL_LOGINS`,
        )
      : finding(`log-in ${name}`, 'warning', null, `${path}: ${loginWarning(name)}`);
  });

/** Prints the restrictions of a container as seen from inside. */
const LOOK = `const fs = require('node:fs');
const status = fs.readFileSync('/proc/self/status', 'utf8');
let writable = true;
try { fs.writeFileSync('/opt/probe', ''); } catch { writable = false; }
console.log(JSON.stringify({
  uid: process.getuid(),
  capabilities: /CapBnd:\\s*(\\S+)/.exec(status)[1],
  noNewPrivileges: /NoNewPrivs:\\s*1/.test(status),
  interfaces: fs.readdirSync('/sys/class/net').filter((name) => name !== 'lo'),
  writable,
}));`;

interface Look {
  uid: number;
  capabilities: string;
  noNewPrivileges: boolean;
  interfaces: string[];
  writable: boolean;
}

async function trial(kennel: OpenKennel): Promise<Finding> {
  const began = Date.now();
  try {
    const result = await kennel.command({
      workspace: null,
      argv: ['node', '-e', LOOK],
      timeoutMs: 30_000,
      maxOutput: 10_000,
      label: 'doctor',
    });
    if (result.code !== 0) throw new Error(`it ended with code ${result.code}: ${result.stderr.trim().slice(-300)}`);
    const look = JSON.parse(result.stdout) as Look;
    const gaps = [
      look.uid === 0 ? 'runs as root' : null,
      /^0+$/.test(look.capabilities) ? null : `has capabilities ${look.capabilities}`,
      look.noNewPrivileges ? null : 'may gain privileges',
      look.interfaces.length === 0 ? null : `has network interfaces ${look.interfaces.join(', ')}`,
      look.writable ? 'can write its root' : null,
    ].filter((gap) => gap !== null);
    if (gaps.length > 0)
      return finding(
        'container',
        'missing',
        null,
        `a container ${gaps.join(', ')}`,
        'look for what changes containers on this engine: docker info',
      );
    return finding(
      'container',
      'ok',
      null,
      `user ${look.uid}, no capabilities, no network, read-only root; ${Date.now() - began} ms from start to end`,
    );
  } catch (error) {
    return finding('container', 'missing', null, (error as Error).message, 'docker info; docker run --rm hello-world');
  }
}

const mendOf = (error: Error): string => /sudo usermod[^.]*/.exec(error.message)?.[0] ?? howToInstall();

/** `fetch doctor` does not wait long for an engine that hangs. */
async function soon<T>(facts: Promise<T>): Promise<T> {
  const given = new AbortController();
  const late = pause(5_000, undefined, { signal: given.signal }).then(() => {
    throw new Error('the engine did not answer within 5 s');
  });
  try {
    return await Promise.race([facts, late]);
  } finally {
    given.abort();
  }
}
