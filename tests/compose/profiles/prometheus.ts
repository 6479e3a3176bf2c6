import { expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import { ONLY_AFTER_FAILURES, panels, rules, watchedMetrics } from '../../support/watched.ts';
import { type ComposedServer, docker, ROLES } from '../server.ts';

/**
 * A server without a WhatsApp account, without a folder for backups, without readers, and on which nothing has failed
 * has none of these metrics.
 */
const MAY_BE_MISSING = [
  ...ONLY_AFTER_FAILURES,
  'fetch_scrape_failures_total',
  'fetch_outbox_oldest_seconds',
  'fetch_outbox_waiting',
  'fetch_whatsapp_needs_person',
  'fetch_whatsapp_state',
  'fetch_backup_age_seconds',
  'fetch_sse_readers',
];

interface Target {
  labels: { job: string };
  health: string;
  lastError: string;
}
interface Loaded {
  name: string;
  health: string;
  lastError?: string;
  alerts: Array<{ state: string; labels: Record<string, string> }>;
}

/** What the shipped files make of a real Prometheus. A chat took a turn with a tool that failed. */
export function prometheusTests(server: () => ComposedServer): void {
  const ask = async <T>(path: string, query: Record<string, string> = {}): Promise<T> => {
    const response = await fetch(
      `http://127.0.0.1:${server().ports.prometheus}/api/v1/${path}?${new URLSearchParams(query)}`,
    );
    const { status, data, error } = (await response.json()) as { status: string; data: T; error?: string };
    if (status !== 'success') throw new Error(`${path} ${JSON.stringify(query)}: ${error}`);
    return data;
  };
  const loaded = async () =>
    (await ask<{ groups: Array<{ rules: Loaded[] }> }>('rules')).groups.flatMap((group) => group.rules);
  const series = async (query: string) =>
    (await ask<{ result: Array<{ metric: Record<string, string> }> }>('query', { query })).result;

  test('promtool finds nothing wrong in the settings, and every alert fires in its test', async () => {
    const promtool = (...args: string[]) =>
      // it writes while it tests, and only this folder can be written
      server().compose('exec', '--no-TTY', '--env', 'TMPDIR=/prometheus', 'prometheus', 'promtool', ...args);
    expect(await promtool('check', 'config', '/etc/prometheus/prometheus.yml')).toContain(
      `SUCCESS: ${rules().length} rules found`,
    );
    expect(await promtool('test', 'rules', '/etc/prometheus/alerts.test.yml')).toContain('SUCCESS');
  });

  test('Prometheus reads every role, and evaluates every rule of ours', async () => {
    const up = await until('every role was read', async () => {
      const { activeTargets } = await ask<{ activeTargets: Target[] }>('targets', { state: 'active' });
      return activeTargets.every(({ health }) => health === 'up') && activeTargets;
    });
    expect(up.map(({ labels }) => labels.job).toSorted()).toEqual(ROLES.map((role) => `fetch-${role}`).toSorted());
    const evaluated = await until('every rule was evaluated', async () => {
      const all = await loaded();
      return all.every(({ health }) => health !== 'unknown') && all;
    });
    expect(evaluated.filter(({ health }) => health !== 'ok')).toEqual([]);
    expect(evaluated.map(({ name }) => name).toSorted()).toEqual(
      rules()
        .map(({ alert }) => alert)
        .toSorted(),
    );
  });

  test('every panel of the board and every metric of a rule has something to show after a turn', async () => {
    // Grafana takes four times the interval of the data source
    const queries = panels().flatMap(({ targets = [] }) =>
      targets.map(({ expr }) => expr.replaceAll('$__rate_interval', '1m')),
    );
    const expected = queries.filter((query) => !MAY_BE_MISSING.some((metric) => query.includes(metric)));
    expect(expected.length).toBeGreaterThan(30);
    await until('a rate needs two readings', async () => {
      const found = await Promise.all(expected.map(series));
      const empty = expected.filter((_, at) => found[at]!.length === 0);
      if (empty.length > 0) throw new Error(`nothing for ${empty.join('\n')}`);
      return true;
    });
    const names = await ask<string[]>('label/__name__/values');
    const missing = [...watchedMetrics()].filter(
      (metric) => !names.some((name) => name.replace(/_(bucket|count|sum)$/, '') === metric),
    );
    expect(missing.filter((metric) => !MAY_BE_MISSING.includes(metric))).toEqual([]);
  });

  test('a role that is stopped makes its alert pending', async () => {
    const away = async () => (await loaded()).find(({ name }) => name === 'FetchRoleAway')!.alerts;
    expect(await away()).toEqual([]);
    const [gateway] = await server().containers('gateway');
    await docker('stop', '--time', '0', gateway!);
    const [alert] = await until('the alert is there', async () => {
      const alerts = await away();
      return alerts.length > 0 && alerts;
    });
    expect(alert).toMatchObject({ state: 'pending', labels: { role: 'gateway', severity: 'critical' } });
    // `docker compose start` would run the steps before it again
    await docker('start', gateway!);
    await server().healthy('gateway');
  });
}
