/**
 * Counts for Prometheus. Nothing is counted before `startCounting`: where no metrics port is set, a count costs one
 * comparison. Labels come from closed lists only. A label with an id, a host or a text would make a new series for each
 * value, and show it to everybody who may scrape.
 *
 * prom-client 15.1 was weighed. Loading it takes 2 MB of heap and 20 MB of resident memory in each process, which is a
 * tenth of what an idle role has.
 */

type Labels<L extends string> = Readonly<Record<L, string>>;
type Kind = 'counter' | 'gauge' | 'histogram';

interface Metric {
  name: string;
  help: string;
  kind: Kind;
  samples(): Iterable<string>;
}

const metrics: Metric[] = [];
const collectors = new Set<() => Promise<void> | void>();
let counting = false;

/** From now on counts are kept. */
export function startCounting(): void {
  counting = true;
}

/** A number that only grows while the process lives. */
interface Counter<L extends string> {
  add(labels: Labels<L>, by?: number): void;
}
/** A number at this moment. */
interface Gauge<L extends string> {
  set(labels: Labels<L>, value: number): void;
  /** no series: what is not known is not shown */
  clear(): void;
}
/** How long things took, in seconds. */
interface Histogram<L extends string> {
  observe(labels: Labels<L>, seconds: number): void;
}

export function counter<L extends string = never>(name: string, help: string): Counter<L> {
  const values = new Map<string, number>();
  metrics.push({ name, help, kind: 'counter', samples: () => lines(name, values) });
  return {
    add(labels, by = 1) {
      if (!counting) return;
      const key = textOf(labels);
      values.set(key, (values.get(key) ?? 0) + by);
    },
  };
}

export function gauge<L extends string = never>(name: string, help: string): Gauge<L> {
  const values = new Map<string, number>();
  metrics.push({ name, help, kind: 'gauge', samples: () => lines(name, values) });
  return { set: (labels, value) => void values.set(textOf(labels), value), clear: () => values.clear() };
}

interface Series {
  counts: number[];
  sum: number;
}

export function histogram<L extends string = never>(
  name: string,
  help: string,
  bounds: readonly number[],
): Histogram<L> {
  const series = new Map<string, Series>();
  metrics.push({ name, help, kind: 'histogram', samples: () => histogramLines(name, bounds, series) });
  return {
    observe(labels, seconds) {
      if (!counting) return;
      const key = textOf(labels);
      const known = series.get(key) ?? { counts: [...bounds, 0].map(() => 0), sum: 0 };
      series.set(key, known);
      const at = bounds.findIndex((bound) => seconds <= bound);
      known.counts[at < 0 ? bounds.length : at]! += 1;
      known.sum += seconds;
    },
  };
}

/** `collect` runs before each scrape and sets gauges. Returns a function that ends it. */
export function onScrape(collect: () => Promise<void> | void): () => void {
  collectors.add(collect);
  return () => void collectors.delete(collect);
}

const failures = counter(
  'fetch_scrape_failures_total',
  'Parts of scrapes that could not be read, such as the database while it is away.',
);

/** All of it, in Prometheus' text format. A part that fails or takes longer than `limitMs` is left out, and counted. */
export async function scrape(limitMs: number): Promise<string> {
  await Promise.all([...collectors].map((collect) => within(limitMs, collect).catch(() => failures.add({}))));
  return metrics
    .map(
      ({ name, help, kind, samples }) => `# HELP ${name} ${help}\n# TYPE ${name} ${kind}\n${[...samples()].join('')}`,
    )
    .join('');
}

async function within(ms: number, collect: () => Promise<void> | void): Promise<void> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error('too late')), ms);
  await Promise.race([Promise.resolve().then(collect), late.promise]).finally(() => clearTimeout(timer));
}

const escaped = (value: string): string => value.replace(/[\\"\n]/g, (char) => (char === '\n' ? '\\n' : `\\${char}`));
const textOf = (labels: Readonly<Record<string, string>>): string =>
  Object.entries(labels)
    .map(([name, value]) => `${name}="${escaped(value)}"`)
    .join(',');
/** Prometheus writes infinity in another way than JavaScript does. */
const line = (name: string, labels: string, value: number): string =>
  `${name}${labels && `{${labels}}`} ${value === Number.POSITIVE_INFINITY ? '+Inf' : value}\n`;

function* lines(name: string, values: ReadonlyMap<string, number>): Iterable<string> {
  for (const [labels, value] of values) yield line(name, labels, value);
}

function* histogramLines(
  name: string,
  bounds: readonly number[],
  series: ReadonlyMap<string, Series>,
): Iterable<string> {
  for (const [labels, { counts, sum }] of series) {
    let below = 0;
    for (const [index, count] of counts.entries()) {
      below += count;
      yield line(`${name}_bucket`, [labels, `le="${bounds[index] ?? '+Inf'}"`].filter(Boolean).join(','), below);
    }
    yield line(`${name}_sum`, labels, sum);
    yield line(`${name}_count`, labels, below);
  }
}
