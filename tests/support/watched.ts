import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

/** What the files below deploy/ that watch Fetch say: the board of Grafana and the rules of Prometheus. */

export interface Rule {
  alert: string;
  expr: string;
  for: string;
  labels: { severity: string };
  annotations: { summary: string; action: string };
}
export interface Panel {
  id: number;
  type: string;
  title: string;
  gridPos: { h: number; w: number; x: number; y: number };
  targets?: Array<{ expr: string }>;
}

const read = (file: string): string =>
  readFileSync(fileURLToPath(new URL(`../../deploy/${file}`, import.meta.url)), 'utf8');

export const rules = (): Rule[] =>
  (parse(read('prometheus/alerts.yml')) as { groups: Array<{ rules: Rule[] }> }).groups.flatMap((group) => group.rules);
export const panels = (): Panel[] => (JSON.parse(read('grafana/boards/fetch.json')) as { panels: Panel[] }).panels;

/** Names of metrics in all expressions, without what a histogram adds. */
export function watchedMetrics(): Set<string> {
  const expressions = [
    ...rules().map(({ expr }) => expr),
    ...panels().flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
  ];
  const names = expressions.flatMap((expr) => expr.replace(/"[^"]*"/g, '""').match(/\b(?:fetch|temporal)_\w+/g) ?? []);
  return new Set(names.map((name) => name.replace(/_(bucket|count|sum)$/, '')));
}

/** The SDK shows these only after something has failed. */
export const ONLY_AFTER_FAILURES = ['temporal_workflow_task_execution_failed_total'];
