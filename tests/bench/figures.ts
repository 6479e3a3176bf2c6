/** Figures of a series, in the unit of the series; rounded to two decimals. */
export interface Figures {
  n: number;
  median: number;
  p95: number;
  min: number;
}

export const round = (value: number, digits = 2): number => Math.round(value * 10 ** digits) / 10 ** digits;

export const percentile = (values: readonly number[], share: number): number => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
};

export const median = (values: readonly number[]): number => percentile(values, 0.5);

export const figures = (values: readonly number[]): Figures => ({
  n: values.length,
  median: round(median(values)),
  p95: round(percentile(values, 0.95)),
  min: round(percentile(values, 0)),
});

/** One line of a result table; every part of the benchmark returns some. */
export type Row = Record<string, string | number>;

/** A title and a Markdown table, so that it can be pasted into docs/reliability.md as it is. */
export function printTable(title: string, rows: readonly Row[]): void {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  console.log(`\n${title}\n| ${columns.join(' | ')} |\n|${columns.map(() => '---').join('|')}|`);
  for (const row of rows) console.log(`| ${columns.map((column) => row[column] ?? '').join(' | ')} |`);
}
