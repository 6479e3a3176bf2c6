/** The measures of a plot of columns. */
interface Column {
  label: string;
  /** from the bottom up */
  parts: number[];
}

interface Bar {
  x: number;
  width: number;
  label: string;
  total: number;
  /** of each part, from the bottom up; the y of SVG grows downwards */
  parts: Array<{ y: number; height: number }>;
}

interface Plot {
  bars: Bar[];
  /** lines across, with the amount that they stand for */
  lines: Array<{ y: number; amount: number }>;
}

const GAP = 0.28;

/** Columns in a field of this size; the highest line is above the highest column. */
export function plotOf(columns: readonly Column[], width: number, height: number): Plot {
  const totals = columns.map(({ parts }) => parts.reduce((sum, part) => sum + part, 0));
  const step = niceStep(Math.max(0, ...totals));
  const top = step * Math.max(1, Math.ceil(Math.max(0, ...totals) / step - 1e-9));
  const scale = (amount: number): number => (amount / top) * height;
  const place = columns.length === 0 ? 0 : width / columns.length;
  const bars = columns.map(({ label, parts }, at) => {
    let below = 0;
    return {
      x: at * place + (place * GAP) / 2,
      width: place * (1 - GAP),
      label,
      total: totals[at]!,
      parts: parts.map((part) => {
        below += part;
        return { y: height - scale(below), height: scale(part) };
      }),
    };
  });
  const lines = Array.from({ length: Math.round(top / step) + 1 }, (_, at) => ({
    y: height - scale(at * step),
    amount: at * step,
  }));
  return { bars, lines };
}

/** 1, 2 or 5 times a power of ten: two to five lines fit below the highest amount. */
export function niceStep(highest: number): number {
  if (!(highest > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(highest));
  const step = [0.2, 0.5, 1, 2].map((each) => each * power).find((each) => highest / each <= 5);
  return step ?? power * 2;
}
