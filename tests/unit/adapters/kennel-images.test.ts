import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runName } from '../../../src/adapters/kennel/docker/containers.ts';
import { connect } from '../../../src/adapters/kennel/docker/engine.ts';
import { IMAGE_KINDS, imageBuild, imageKindOf } from '../../../src/adapters/kennel/images/image-files.ts';
import { KennelUnavailable } from '../../../src/adapters/kennel/kennel.ts';
import { PACKAGE_ROOT } from '../../../src/installation.ts';

const user = { uid: 1000, gid: 1000 };
const build = (kind: (typeof IMAGE_KINDS)[number], base = 'node:24-bookworm-slim', who = user) =>
  imageBuild(kind, base, who);

describe('the name of an image', () => {
  it('follows from what is in it', () => {
    expect(build('tools')).toEqual(build('tools'));
    const names = new Set([
      ...IMAGE_KINDS.map((kind) => build(kind).name),
      build('tools', 'node:24-trixie-slim').name,
      build('tools', undefined, { uid: 501, gid: 20 }).name,
    ]);
    expect(names.size).toBe(IMAGE_KINDS.length + 2);
    for (const name of names) expect(name).toMatch(/^fetch-kennel(-[a-z]+)?:[0-9a-f]{12}$/);
  });

  it('of one agent does not depend on another agent', () => {
    const { files } = build('codex');
    expect(files).toEqual(
      expect.arrayContaining(['kennel/agents/codex/packages/cli/package.json', 'kennel/agents/codex/profile.ts']),
    );
    expect(files.filter((file) => file.includes('agents/claude'))).toEqual([]);
    const ofAgents = build('tools').files.filter((file) => /^kennel\/agents\/(?!practice\/)/.test(file));
    expect(ofAgents).toEqual(['kennel/agents/install.sh']);
    expect(imageKindOf('practice')).toBe('tools');
  });

  it('of the browser has its own Dockerfile and nothing of an agent', () => {
    const { dockerfile, files } = build('browser');
    expect(files).toContain(dockerfile);
    expect(files.filter((file) => !file.startsWith('kennel/browser/'))).toEqual([
      'kennel/runner/watch/socket-forwarder.ts',
    ]);
  });

  it('does not depend on what only the host knows of its agent', () => {
    for (const kind of IMAGE_KINDS)
      expect(build(kind).files.filter((file) => /facts\.ts$|registry\.ts$/.test(file))).toEqual([]);
  });

  it('does not depend on what a person installed beside the files', () => {
    expect(build('tools').files.filter((file) => file.includes('node_modules'))).toEqual([]);
  });
});

describe('packages inside of images', () => {
  const folders = readdirSync(join(PACKAGE_ROOT, 'kennel/agents'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('package.json') && !path.includes('node_modules'))
    .map((path) => `kennel/agents/${path}`);

  it('have exact versions and a lock file that names no registry', () => {
    const withPackages = new Set(folders.map((path) => path.split('/')[2]));
    expect(withPackages).toEqual(new Set(IMAGE_KINDS.filter((kind) => kind !== 'tools' && kind !== 'browser')));
    for (const path of [...folders, 'kennel/package.json', 'kennel/browser/package.json']) {
      const { dependencies = {}, optionalDependencies = {} } = JSON.parse(
        readFileSync(join(PACKAGE_ROOT, path), 'utf8'),
      );
      for (const version of Object.values({ ...dependencies, ...optionalDependencies }))
        expect(version, path).toMatch(/^\d+\.\d+\.\d+$/);
      const lock = join(PACKAGE_ROOT, path.replace('package.json', 'package-lock.json'));
      expect(existsSync(lock), path).toBe(true);
      expect(readFileSync(lock, 'utf8')).not.toContain('"resolved"');
    }
  });

  it('of the runner are the ones that it is tested with', () => {
    const inside = JSON.parse(readFileSync(join(PACKAGE_ROOT, 'kennel/package.json'), 'utf8')).dependencies as Record<
      string,
      string
    >;
    const { dependencies, devDependencies } = JSON.parse(readFileSync(join(PACKAGE_ROOT, 'package.json'), 'utf8'));
    const outside: Record<string, string> = { ...dependencies, ...devDependencies };
    for (const [name, version] of Object.entries(inside)) expect(outside[name], name).toBe(version);
  });
});

describe('the container of a step', () => {
  it('has one name for each home, task and step, whatever the id of the task', () => {
    expect(runName('home', 'task_1', 2)).toBe('fetch-home-task_1-2');
    const names = [
      runName('home', 'a/b', 1),
      runName('home', 'a_b', 1),
      runName('home', 'a:b', 1),
      runName('home', 'ä'.repeat(300), 1),
      runName('other', 'a_b', 1),
    ];
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(/^[a-zA-Z0-9][a-zA-Z0-9_.-]{1,120}$/);
  });
});

describe('the address of the engine', () => {
  it('is taken from DOCKER_HOST', () => {
    expect(connect({ DOCKER_HOST: 'unix:///srv/engine.sock' }).address).toBe('/srv/engine.sock');
    expect(connect({ DOCKER_HOST: '/srv/engine.sock' }).address).toBe('/srv/engine.sock');
    expect(connect({ DOCKER_HOST: 'tcp://127.0.0.1:2375' }).address).toBe('tcp://127.0.0.1:2375');
    expect(connect({ DOCKER_HOST: undefined }).address).toMatch(/\.sock$/);
  });

  it('that cannot work is told by the first call', async () => {
    await expect(connect({ DOCKER_HOST: 'nonsense' }).facts()).rejects.toThrow(KennelUnavailable);
    await expect(connect({ DOCKER_HOST: 'ssh://host' }).facts()).rejects.toThrow('on this machine');
  });
});
