import { AGENT_PHASE, AGENT_WAITS_FOR, SPEND_MICRO_USD } from '../../../contracts/signals.ts';

/** What the Temporal Web UI keeps in a browser: the columns of its lists, and its saved views. */

const COLUMNS = ['Name', 'State', 'WaitingFor', 'Channel', 'Spent', 'Since', 'Workflow ID', 'Type'];
const SCHEDULE_COLUMNS = ['Status', 'Name', 'Schedule ID', 'Recent Runs', 'Upcoming Runs'];
/** Raise it with the columns: a browser takes them once, and keeps what its person changes afterwards. */
const VERSION = '1';

const ASKS_A_PERSON = ['question', 'approval', 'plan'].map((kind) => `${AGENT_WAITS_FOR} = "${kind}"`).join(' OR ');
export const VIEWS = {
  waiting: { name: 'Waits for a person', query: `ExecutionStatus = "Running" AND (${ASKS_A_PERSON})` },
  failed: {
    name: 'Failed',
    query: `ExecutionStatus = "Failed" OR (${AGENT_PHASE} = "failed" AND ExecutionStatus != "ContinuedAsNew")`,
  },
  dearest: { name: 'Spent most', query: `${SPEND_MICRO_USD} > 0` },
} as const;

/**
 * The page that a browser gets once, after its token. It sets the columns and views, and goes on to `to`, a path.
 * `nonce`: of the header that lets its script run.
 */
export function entryPage({ namespace, to, nonce }: { namespace: string; to: string; nonce: string }): string {
  const given = {
    namespace,
    to,
    version: VERSION,
    columns: COLUMNS.map((label, at) => ({ label, pinned: at === 0 })),
    schedules: SCHEDULE_COLUMNS.map((label) => ({ label, pinned: false })),
    views: Object.entries(VIEWS).map(([id, view]) => ({ id: `fetch-${id}`, type: 'user', ...view })),
  };
  // in a script, `<` could end it
  const text = JSON.stringify(given).replaceAll('<', '\\u003c');
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Temporal Web UI</title>
<script nonce="${nonce}">(${FILL})(${text}, () => localStorage)</script></html>`;
}

/** A text, because a bundler may change what a function looks like. */
const FILL = `(given, open) => {
  const read = (storage, key) => {
    try {
      const kept = JSON.parse(storage.getItem(key));
      return kept && typeof kept === 'object' ? kept : {};
    } catch {
      return {};
    }
  };
  try {
    const storage = open();
    const set = (key, value) =>
      storage.setItem(key, JSON.stringify({ ...read(storage, key), [given.namespace]: value }));
    const mark = 'fetch-columns ' + given.namespace;
    if (storage.getItem(mark) !== given.version) {
      set('namespace-workflow-table-columns', given.columns);
      set('namespace-schedules-table-columns', given.schedules);
      storage.setItem(mark, given.version);
    }
    // the UI up to 2.42 has the first key, a later one the second
    for (const key of ['saved-workflow-queries', 'saved-namespace-queries']) {
      const views = read(storage, key)[given.namespace];
      const others = Array.isArray(views) ? views.filter((view) => !String(view && view.id).startsWith('fetch-')) : [];
      set(key, [...given.views, ...others]);
    }
  } catch {
    // a browser that keeps nothing shows the lists as they are
  }
  location.replace(given.to);
}`;
