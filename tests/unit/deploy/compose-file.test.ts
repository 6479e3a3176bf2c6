import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { settings } from '../../../src/config.ts';
import { VERSION } from '../../../src/installation.ts';

interface Service {
  image: string;
  profiles?: string[];
  restart: string;
  logging: { options: Record<string, string> };
  mem_limit?: string;
  cap_drop: string[];
  environment?: Record<string, string>;
  volumes?: string[];
  ports?: string[];
  networks?: string[];
  healthcheck?: { test?: unknown; disable?: boolean };
}

const read = (file: string): string =>
  readFileSync(fileURLToPath(new URL(`../../../${file}`, import.meta.url)), 'utf8');
const { services } = parse(read('docker-compose.yml'), { merge: true }) as { services: Record<string, Service> };
const each = Object.entries(services);
const OURS = ['worker', 'gateway', 'api', 'kennel'];

test('every service has a limit of memory, a log that is rotated, no capability but what it names, and starts again', () => {
  for (const [name, service] of each) {
    expect(service.mem_limit, name).toMatch(/^\d+[mg]$/);
    expect(service.logging.options, name).toEqual({ 'max-size': '10m', 'max-file': '3' });
    expect(service.cap_drop, name).toEqual(['ALL']);
    expect(['unless-stopped', 'on-failure:10'], name).toContain(service.restart);
  }
});

test('every service that stays has a health check: its own, or that of our image', () => {
  for (const [name, service] of each.filter(([, { restart }]) => restart === 'unless-stopped'))
    expect(service.healthcheck?.test !== undefined || OURS.includes(name), name).toBe(true);
  expect(read('Dockerfile')).toMatch(/^HEALTHCHECK .*healthy\.sh/m);
});

test('only the kennel has the socket of the engine', () => {
  expect(
    each
      .filter(([, { volumes = [] }]) => volumes.some((volume) => volume.includes('docker.sock')))
      .map(([name]) => name),
  ).toEqual(['kennel']);
});

test('nothing is published beyond loopback unless PUBLISH_ADDRESS asks, and the servers are on a network without a way out', () => {
  for (const [name, { ports = [] }] of each)
    for (const port of ports) expect(port, name).toMatch(/^(127\.0\.0\.1|\$\{PUBLISH_ADDRESS:-127\.0\.0\.1\}):/);
  for (const name of ['postgres', 'temporal']) expect(services[name]!.networks).toEqual(['servers']);
});

test('no password stands in the file: each comes from a volume of its own', () => {
  for (const [name, { environment = {} }] of each)
    for (const [variable, value] of Object.entries(environment))
      if (/PASSWORD|TOKEN|KEY|DATABASE_URL/.test(variable)) expect(`${name} ${value}`).toMatch(/ \/run\/secrets\//);
});

test('images have a version: ours that of the package, the schema tool that of the server', () => {
  for (const [name, { image }] of each) expect(image, name).toMatch(/:v?\d+[\w.-]*$/);
  for (const name of OURS) expect(services[name]!.image).toBe(`fetch-durable:${VERSION}`);
  expect(read('Dockerfile')).toContain(`ARG VERSION=${VERSION}\n`);
  const server = services.temporal!.image.split(':')[1];
  expect(services['temporal-schema']!.image.split(':')[1]).toMatch(new RegExp(`^${server}-`));
});

test('what a profile adds is search and the Web UI, or what watches', () => {
  const added = (profile: string) =>
    each.filter(([, { profiles }]) => profiles?.includes(profile)).map(([name]) => name);
  expect(added('full')).toEqual(['temporal-ui', 'searxng']);
  expect(added('observability')).toEqual(['prometheus', 'grafana']);
  expect(each.filter(([, { profiles }]) => profiles)).toHaveLength(4);
});

test('settings that the file names exist', () => {
  const known = Object.keys(settings);
  for (const name of OURS)
    for (const variable of Object.keys(services[name]!.environment ?? {}).filter((key) =>
      /^(FETCH|TEMPORAL|DATABASE)_/.test(key),
    ))
      expect(known, variable).toContain(variable.replace(/_FILE$/, ''));
});

test('the tests replace images, and nothing else', () => {
  const { services: replaced } = parse(read('tests/compose/images.yml')) as { services: Record<string, object> };
  for (const [name, fields] of Object.entries(replaced)) {
    expect(Object.keys(fields), name).toEqual(['image']);
    expect(Object.keys(services)).toContain(name);
  }
});
