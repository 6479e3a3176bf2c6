import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { metricsPort } from '../../../src/cli/roles/metrics/endpoint.ts';
import { loadConfig, settings } from '../../../src/config.ts';
import { mayBeInFile } from '../../../src/domain/settings/shapes.ts';
import { VERSION } from '../../../src/installation.ts';

/** The example has no cluster here to be applied to: it is held against what else says how our image runs. */

interface Probe {
  exec: { command: string[] };
}
interface Container {
  name: string;
  image: string;
  args: string[];
  env?: Array<{ name: string; value: string }>;
  envFrom: Array<{ configMapRef: { name: string } }>;
  ports?: Array<{ name: string; containerPort: number }>;
  startupProbe?: Probe;
  readinessProbe?: Probe;
  livenessProbe?: Probe;
  resources: { limits: { memory: string } };
  securityContext: object;
  volumeMounts: Array<{ name: string; mountPath: string; readOnly?: boolean }>;
}
interface Pod {
  metadata: { labels: object; annotations?: Record<string, string> };
  spec: {
    enableServiceLinks: boolean;
    automountServiceAccountToken: boolean;
    securityContext: object;
    terminationGracePeriodSeconds?: number;
    containers: [Container];
    volumes: Array<{ name: string; emptyDir?: object; secret?: { secretName: string; defaultMode: number } }>;
  };
}
interface Manifest {
  kind: string;
  metadata: { name: string };
  data?: Record<string, string>;
  spec: {
    replicas?: number;
    minAvailable?: number;
    selector: Record<string, object>;
    template: Pod;
    ports?: Array<{ port: number; targetPort: string }>;
  };
}

const root = fileURLToPath(new URL('../../../', import.meta.url));
const read = (file: string): string => readFileSync(join(root, file), 'utf8');
const FOLDER = 'deploy/kubernetes';
const files = readdirSync(join(root, FOLDER)).filter((name) => name !== 'kustomization.yaml');
const manifests: Manifest[] = files.flatMap((file) =>
  parseAllDocuments(read(`${FOLDER}/${file}`)).map((document) => document.toJS()),
);
const ofKind = (kind: string): Manifest[] => manifests.filter((manifest) => manifest.kind === kind);
const kustomization = parse(read(`${FOLDER}/kustomization.yaml`)) as {
  resources: string[];
  images: Array<{ name: string; newTag: string }>;
};
const { data: shared } = ofKind('ConfigMap')[0] as { data: Record<string, string> };

const dockerfile = read('Dockerfile');
const IMAGE_ENV = Object.fromEntries(
  [.../^ENV (.*)$/m.exec(dockerfile)![1]!.split(' ')].map((pair) => {
    const [name, value] = pair.split('=');
    return [name!, value!];
  }),
);
const compose = parse(read('docker-compose.yml'), { merge: true }) as {
  services: Record<string, { image: string; command: string[]; mem_limit: string; stop_grace_period?: string }>;
};
const pods = [...ofKind('Deployment'), ...ofKind('Job')].map(({ metadata, spec }) => ({
  name: metadata.name,
  pod: spec.template,
  spec: spec.template.spec,
}));
const role = (container: Container): 'worker' | 'gateway' | 'api' => container.args[0] as never;

test('each file is applied, and each kind is one that a cluster has by itself', () => {
  expect([...kustomization.resources].sort()).toEqual(files.sort());
  const kinds = new Set(manifests.map(({ kind }) => kind));
  expect([...kinds].sort()).toEqual(['ConfigMap', 'Deployment', 'Job', 'Namespace', 'PodDisruptionBudget', 'Service']);
  expect(pods.map(({ name }) => name).sort()).toEqual(['fetch-api', 'fetch-gateway', 'fetch-prepare', 'fetch-worker']);
});

test('the image, its commands, limits of memory and time to end are those of Docker Compose, and of this release', () => {
  expect(kustomization.images).toEqual([{ name: 'fetch-durable', newTag: VERSION }]);
  for (const { name, spec } of pods) {
    const [container] = spec.containers;
    const service = compose.services[container.args[0]!]!;
    expect(container.image, name).toBe(service.image);
    expect(container.args, name).toEqual(service.command);
    expect(bytes(container.resources.limits.memory), name).toBe(bytes(service.mem_limit));
    if (service.stop_grace_period)
      expect(`${spec.terminationGracePeriodSeconds}s`, name).toBe(service.stop_grace_period);
  }
});

test('every variable is a setting with a value that is taken, or the file of a secret one', () => {
  const folder = mkdtempSync(join(tmpdir(), 'fetch-kubernetes-'));
  try {
    for (const { name, spec } of pods) {
      const [{ env = [], envFrom }] = spec.containers;
      expect(envFrom, name).toEqual([{ configMapRef: { name: ofKind('ConfigMap')[0]!.metadata.name } }]);
      const given: Record<string, string> = {
        ...shared,
        ...Object.fromEntries(env.map((each) => [each.name, each.value])),
      };
      for (const variable of Object.keys(given)) {
        const setting = variable.replace(/_FILE$/, '') as keyof typeof settings;
        expect(Object.keys(settings), `${variable} of ${name}`).toContain(variable in settings ? variable : setting);
        if (!(variable in settings)) {
          expect(mayBeInFile(settings[setting]), variable).toBe(true);
          const file = join(folder, setting);
          writeFileSync(file, setting === 'DATABASE_URL' ? 'postgres://fetch:secret@db/fetch' : 'ab'.repeat(32));
          given[variable] = file;
        }
      }
      const config = loadConfig({ FETCH_HOME: folder }, given);
      expect(config).toMatchObject({ DATABASE_URL: 'postgres://fetch:secret@db/fetch', FETCH_METRICS_HOST: '0.0.0.0' });
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('the secret has each file that a setting names, is made by the command of the docs, and is in no manifest', () => {
  const named = Object.entries(shared).filter(([name]) => !(name in settings));
  const made = [...read('docs/server.md').matchAll(/--from-(?:literal|file)=([a-z-]+)=/g)].map(
    ([, key]) => `/run/secrets/fetch/${key}`,
  );
  expect(named.map(([, file]) => file).sort()).toEqual(made.sort());
  for (const { name, spec } of pods) {
    expect(spec.volumes.find((volume) => volume.name === 'secrets')?.secret, name).toEqual({
      secretName: 'fetch',
      defaultMode: 0o440,
    });
    expect(mountOf(spec.containers[0], 'secrets'), name).toEqual({
      name: 'secrets',
      mountPath: '/run/secrets/fetch',
      readOnly: true,
    });
  }
  expect(read('docs/server.md')).toContain('create secret generic fetch ');
});

test('nothing runs with a right of root, and only the home and /tmp can be written', () => {
  const uid = Number(/^USER (\d+):/m.exec(dockerfile)![1]);
  for (const { name, spec } of pods) {
    expect(spec.securityContext, name).toMatchObject({
      runAsNonRoot: true,
      runAsUser: uid,
      fsGroup: uid,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    expect(spec.containers[0].securityContext, name).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    expect([spec.automountServiceAccountToken, spec.enableServiceLinks], name).toEqual([false, false]);
    const writable = spec.volumes
      .filter(({ emptyDir }) => emptyDir)
      .map((volume) => mountOf(spec.containers[0], volume.name)?.mountPath);
    expect(writable.sort(), name).toEqual(['/tmp', IMAGE_ENV.FETCH_HOME].sort());
    expect(spec.volumes, name).toHaveLength(3);
  }
});

test('a role is ready while its health file says so, and is restarted only when it writes none', () => {
  const check = /^HEALTHCHECK .* CMD (\[.*\])$/m.exec(dockerfile)![1]!;
  expect(IMAGE_ENV.FETCH_HEALTH_FILE).toMatch(/^\/tmp\//);
  const folder = mkdtempSync(join(tmpdir(), 'fetch-probes-'));
  const file = join(folder, 'health');
  const passes = ({ exec: { command } }: Probe): boolean => {
    const [program, ...args] = command.map((part) => part.replace('/opt/fetch/', root));
    try {
      execFileSync(program!, args, { env: { PATH: '/usr/bin:/bin', FETCH_HEALTH_FILE: file }, stdio: 'ignore' });
      return true;
    } catch {
      return false;
    }
  };
  try {
    for (const { spec } of pods.filter(({ name }) => name !== 'fetch-prepare')) {
      const { startupProbe, readinessProbe, livenessProbe } = spec.containers[0] as Required<Container>;
      expect(startupProbe.exec.command).toEqual(JSON.parse(check));
      expect(readinessProbe.exec.command).toEqual(JSON.parse(check));
      const verdicts = () => [passes(readinessProbe), passes(livenessProbe)];
      rmSync(file, { force: true });
      expect(verdicts()).toEqual([false, false]);
      writeFileSync(file, 'ok\n');
      expect(verdicts()).toEqual([true, true]);
      writeFileSync(file, 'PostgreSQL does not answer\n');
      expect(verdicts()).toEqual([false, true]);
      writeFileSync(file, 'ok\n');
      const old = new Date(Date.now() - 120_000);
      utimesSync(file, old, old);
      expect(verdicts()).toEqual([false, false]);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('ports are those that the roles listen on, and the service leads to them', () => {
  const config = loadConfig({ FETCH_HOME: '/nonexistent' }, {});
  const first = Number(shared.FETCH_METRICS_PORT);
  for (const { pod, spec } of pods.filter(({ name }) => name !== 'fetch-prepare')) {
    const [container] = spec.containers;
    const metrics = metricsPort(first, [role(container)]);
    const http = [
      { name: 'runtime', containerPort: config.FETCH_RUNTIME_PORT },
      { name: 'status', containerPort: config.FETCH_STATUS_PORT },
    ];
    expect(container.ports).toEqual([
      ...(role(container) === 'api' ? http : []),
      { name: 'metrics', containerPort: metrics },
    ]);
    expect(pod.metadata.annotations?.['prometheus.io/port']).toBe(String(metrics));
  }
  const [service] = ofKind('Service');
  expect(service!.spec.ports).toMatchObject([
    { port: config.FETCH_RUNTIME_PORT, targetPort: 'runtime' },
    { port: config.FETCH_STATUS_PORT, targetPort: 'status' },
  ]);
  expect(shared.FETCH_ALLOWED_HOSTS!.split(',')).toContain(service!.metadata.name);
  expect(service!.spec.selector).toEqual(
    ofKind('Deployment').find(({ metadata }) => metadata.name === 'fetch-api')!.spec.template.metadata.labels,
  );
});

test('each role has two pods, of which a drain of nodes leaves one', () => {
  const budgets = ofKind('PodDisruptionBudget');
  for (const { metadata, spec } of ofKind('Deployment')) {
    const labels = spec.template.metadata.labels;
    expect(spec.selector.matchLabels, metadata.name).toEqual(labels);
    expect(budgets.filter((budget) => budget.metadata.name === metadata.name).map((budget) => budget.spec)).toEqual([
      { minAvailable: 1, selector: { matchLabels: labels } },
    ]);
    expect(spec.replicas, metadata.name).toBeGreaterThan(1);
  }
  expect(budgets).toHaveLength(ofKind('Deployment').length);
});

const mountOf = (container: Container, name: string) => container.volumeMounts.find((mount) => mount.name === name);

/** `512Mi` of Kubernetes and `512m` of Docker are the same. */
function bytes(size: string): number {
  const [, number, unit] = /^(\d+)(m|g|Mi|Gi)$/.exec(size)!;
  return Number(number) * (/m/i.test(unit!) ? 1024 ** 2 : 1024 ** 3);
}
