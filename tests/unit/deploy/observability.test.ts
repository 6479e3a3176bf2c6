import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import '../../../src/telemetry/metrics.ts';
import '../../../src/telemetry/store-metrics.ts';
import { scrape } from '../../../src/telemetry/registry.ts';
import { panels, rules, watchedMetrics } from '../../support/watched.ts';

const read = (file: string): string =>
  readFileSync(fileURLToPath(new URL(`../../../${file}`, import.meta.url)), 'utf8');

test('every metric of ours on the board and in the rules is one that the roles show', async () => {
  const shown = [...(await scrape(1_000)).matchAll(/^# TYPE (\w+) /gm)].map(([, name]) => name);
  const watched = [...watchedMetrics()].filter((name) => name.startsWith('fetch_'));
  expect(watched.length).toBeGreaterThan(20);
  expect(watched.filter((name) => !shown.includes(name))).toEqual([]);
});

test('every alert says what is wrong and what to do, how bad it is, and waits before it fires', () => {
  const names = rules().map(({ alert }) => alert);
  expect(new Set(names).size).toBe(names.length);
  for (const { alert, annotations, labels, for: pending } of rules()) {
    expect(alert).toMatch(/^Fetch[A-Z]\w+$/);
    expect(annotations.summary, alert).toMatch(/[.]$/);
    expect(annotations.action, alert).toMatch(/\w/);
    expect(['critical', 'warning'], alert).toContain(labels.severity);
    expect(pending, alert).toMatch(/^\d+m$/);
  }
});

test('every alert fires in the rule tests of promtool', () => {
  const tried = read('deploy/prometheus/alerts.test.yml').matchAll(/alertname="(\w+)"/g);
  const names = new Set([...tried].map(([, name]) => name));
  expect([...names].toSorted()).toEqual(
    rules()
      .map(({ alert }) => alert)
      .toSorted(),
  );
});

test('panels of the board have ids of their own, lie inside of it, and do not lie on each other', () => {
  const all = panels();
  expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
  const taken = new Map<string, string>();
  for (const { title, type, targets = [], gridPos } of all) {
    expect(targets.length > 0, title).toBe(type !== 'row');
    expect(gridPos.x + gridPos.w, title).toBeLessThanOrEqual(24);
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1)
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
        expect(taken.get(`${x} ${y}`), `${title} lies on it`).toBeUndefined();
        taken.set(`${x} ${y}`, title);
      }
  }
});

test('Prometheus asks each role of docker-compose.yml at the port where it shows its metrics', () => {
  interface Job {
    static_configs?: Array<{ targets: string[] }>;
    dns_sd_configs?: Array<{ names: string[]; port: number }>;
  }
  const { scrape_configs } = parse(read('deploy/prometheus/prometheus.yml')) as { scrape_configs: Job[] };
  const targets = scrape_configs.flatMap(({ static_configs = [], dns_sd_configs = [] }) => [
    ...static_configs.flatMap((each) => each.targets),
    ...dns_sd_configs.flatMap(({ names, port }) => names.map((name) => `${name}:${port}`)),
  ]);
  const { services } = parse(read('docker-compose.yml'), { merge: true }) as {
    services: Record<string, { environment?: { FETCH_METRICS_PORT?: number } }>;
  };
  const first = services.gateway!.environment!.FETCH_METRICS_PORT!;
  expect(targets.toSorted()).toEqual(
    [`gateway:${first}`, `worker:${first + 1}`, `api:${first + 2}`, `kennel:${first + 3}`].toSorted(),
  );
});
