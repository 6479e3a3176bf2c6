/** A call that has ended, as far as a loop can be seen in it. */
export interface EndedCall {
  name: string;
  args: Record<string, unknown>;
  /** its result; null when it has none */
  output: string | null;
  /** its result shows something that is there, so that other arguments with the same result bring nothing new */
  shows: boolean;
  /** what refused it and how, without a page that may have a new number each time */
  refusal?: string | undefined;
}

/** The model is told when it does the same for this many times in a row. */
export const TOLD_AT = 3;
/** The turn ends when the model has done the same for this many times in a row. */
export const ENDED_AT = 6;

/** The same one, two or three steps again and again are a loop. */
const LONGEST_PERIOD = 3;

/**
 * For each step of a turn, how many times in a row the model has done the same until then, with the same results: one
 * step (A A A), steps in turn (A B A B), or different arguments that show the same. Each step is the calls that it made
 * in parallel; equal calls in one step count once.
 *
 * @param steps oldest first
 */
export function timesInARow(steps: ReadonlyArray<readonly EndedCall[]>): number[] {
  const times = steps.map(() => 1);
  for (let period = 1; period <= LONGEST_PERIOD; period++) {
    let run = 0;
    for (let at = period; at < steps.length; at++) {
      run = isSameStep(steps[at]!, steps[at - period]!) ? run + 1 : 0;
      times[at] = Math.max(times[at]!, 1 + Math.ceil(run / period));
    }
  }
  return times;
}

function isSameStep(one: readonly EndedCall[], other: readonly EndedCall[]): boolean {
  if (one.length === 0 || other.length === 0) return false;
  return (
    one.every((call) => other.some((each) => isSame(call, each))) &&
    other.every((call) => one.some((each) => isSame(call, each)))
  );
}

function isSame(one: EndedCall, other: EndedCall): boolean {
  if (one.name !== other.name || one.output === null || other.output === null) return false;
  if (one.refusal !== undefined && one.refusal === other.refusal) return true;
  const equal = JSON.stringify(one.args) === JSON.stringify(other.args);
  if (equal || !one.shows || !other.shows) return equal && one.output === other.output;
  return withoutAddresses(one) === withoutAddresses(other);
}

/** A page's text begins with its address, which the arguments name. */
function withoutAddresses({ args, output }: EndedCall): string {
  const named = Object.values(args).flatMap((value) =>
    typeof value === 'string' && /^https?:/i.test(value) ? [URL.parse(value)?.href ?? value, value] : [],
  );
  return named.reduce((text, address) => text.replaceAll(address, ''), output ?? '');
}
