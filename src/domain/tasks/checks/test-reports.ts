import { Parser } from 'htmlparser2';
import type { TestCase, TestReader } from './test-results.ts';

/** Readers of reports for programs: JSON and XML. */

type Outcome = TestCase['outcome'];

const secondsIn = (value: unknown): number | null => {
  const seconds = typeof value === 'number' ? value : typeof value === 'string' && value !== '' ? Number(value) : NaN;
  return Number.isFinite(seconds) && seconds >= 0 ? Math.round(seconds * 1000) : null;
};

interface GoEvent {
  Action?: unknown;
  Package?: unknown;
  Test?: unknown;
  Elapsed?: unknown;
}

const GO_OUTCOMES: Record<string, Outcome> = { pass: 'passed', fail: 'failed', skip: 'skipped' };

/**
 * `go test -json`. A test with subtests counts by them. A package that fails without a failed test, for example because
 * it does not build, counts as one.
 */
export const goJson: TestReader = (lines) => {
  const tests = new Map<string, Map<string, TestCase & { begun?: true }>>();
  const failedPackages = new Set<string>();
  for (const line of lines) {
    const event = goEvent(line);
    if (typeof event?.Action !== 'string') continue;
    const outcome = GO_OUTCOMES[event.Action];
    const folder = typeof event.Package === 'string' ? event.Package : '';
    const of = tests.get(folder) ?? new Map<string, TestCase & { begun?: true }>();
    tests.set(folder, of);
    if (typeof event.Test !== 'string') {
      if (outcome === 'failed') failedPackages.add(folder);
      continue;
    }
    const name = `${folder} ${event.Test}`;
    if (event.Action === 'run') of.set(event.Test, { name, outcome: 'failed', ms: null, begun: true });
    else if (outcome) of.set(event.Test, { name, outcome, ms: secondsIn(event.Elapsed) });
  }
  return [...tests].flatMap(([folder, of]) => {
    const parents = new Set([...of.keys()].flatMap((test) => parentsOf(test)));
    const failed = failedPackages.has(folder);
    // a test that has begun and not ended took its package along, or the output breaks off
    const cases = [...of].flatMap(([test, { begun, ...each }]) =>
      parents.has(test) || (begun && !failed) ? [] : [each],
    );
    const whole: TestCase = { name: folder, outcome: 'failed', ms: null };
    return failed && cases.every(({ outcome }) => outcome !== 'failed') ? [...cases, whole] : cases;
  });
};

function goEvent(line: string): GoEvent | null {
  if (!line.startsWith('{') || !line.includes('"Action"')) return null;
  try {
    return JSON.parse(line) as GoEvent;
  } catch {
    return null;
  }
}

/** `A/b/c`: `A` and `A/b`. Deeper ones than Go programmers write are left out. */
export const parentsOf = (test: string): string[] => {
  const parts = test.split('/', 20);
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join('/'));
};

interface Assertion {
  ancestorTitles?: unknown;
  title?: unknown;
  fullName?: unknown;
  status?: unknown;
  duration?: unknown;
}

const JEST_OUTCOMES: Record<string, Outcome> = {
  passed: 'passed',
  failed: 'failed',
  skipped: 'skipped',
  pending: 'skipped',
  todo: 'skipped',
  disabled: 'skipped',
};

/** The JSON of Jest and Vitest. A file that could not be run counts as a failed test. */
export const jsonReport: TestReader = (_, text) => {
  const mark = text.indexOf('"testResults"');
  if (mark < 0) return [];
  const begin = text.startsWith('{') ? 0 : text.lastIndexOf('\n{', mark) + 1;
  const end = text.lastIndexOf('}');
  let report: { testResults?: unknown };
  try {
    report = JSON.parse(text.slice(begin, end + 1)) as typeof report;
  } catch {
    return brokenReport(text.slice(mark));
  }
  if (!Array.isArray(report?.testResults)) return [];
  return report.testResults.flatMap((file: unknown): TestCase[] => {
    const { name, status, assertionResults } = (file ?? {}) as Record<string, unknown>;
    const path = typeof name === 'string' ? shortPath(name) : '';
    const cases = (Array.isArray(assertionResults) ? assertionResults : []).flatMap((each) => caseOf(path, each));
    if (status === 'failed' && cases.every(({ outcome }) => outcome !== 'failed'))
      cases.push({ name: path, outcome: 'failed', ms: null });
    return cases;
  });
};

function caseOf(path: string, each: Assertion | null): TestCase[] {
  const outcome = typeof each?.status === 'string' ? JEST_OUTCOMES[each.status] : undefined;
  if (!each || !outcome) return [];
  const titles = Array.isArray(each.ancestorTitles) ? each.ancestorTitles : [];
  const title = typeof each.title === 'string' ? each.title : each.fullName;
  const name = [path, ...titles, title].filter((part) => typeof part === 'string' && part !== '').join(' > ');
  return [{ name, outcome, ms: typeof each.duration === 'number' ? Math.round(each.duration) : null }];
}

/** Of a report that breaks off: every assertion that is there whole. */
function brokenReport(text: string): TestCase[] {
  return text.split('{"ancestorTitles"').flatMap((part) => {
    const end = part.indexOf('}');
    if (end < 0 || !part.startsWith(':')) return [];
    try {
      return caseOf('', JSON.parse(`{"ancestorTitles"${part.slice(0, end + 1)}`) as Assertion);
    } catch {
      return [];
    }
  });
}

const FOLDER = '/workspace/';
/** As in the repository: tests run in a container, where it is at another path. */
const shortPath = (path: string): string => (path.startsWith(FOLDER) ? path.slice(FOLDER.length) : path);

const XML_OUTCOMES: Record<string, Outcome> = { failure: 'failed', error: 'failed', skipped: 'skipped' };

/** JUnit's XML, which Surefire, Gradle, pytest and others write. Several reports may follow one another. */
export const xmlReports: TestReader = (_, text) => {
  if (!text.includes('<testcase')) return [];
  const cases: TestCase[] = [];
  let open: TestCase | null = null;
  let over = false;
  let excused = false;
  const parser = new Parser(
    {
      onopentag: (tag, { classname, name = '', time, type }) => {
        if (tag === 'testcase') {
          open = { name: classname ? `${classname} > ${name}` : name, outcome: 'passed', ms: secondsIn(time) };
          excused = false;
        } else if (open && XML_OUTCOMES[tag] && open.outcome !== 'failed' && !excused) {
          open.outcome = XML_OUTCOMES[tag];
          // a test of `node --test` that is still to do may fail
          excused = tag === 'skipped' && type === 'todo';
        }
      },
      onclosetag: (tag) => {
        if (tag !== 'testcase' || !open) return;
        // one that breaks off may have failed
        if (!over) cases.push(open);
        open = null;
      },
    },
    { xmlMode: true },
  );
  parser.write(text.slice(text.indexOf('<testcase')));
  over = true;
  parser.end();
  return cases;
};
