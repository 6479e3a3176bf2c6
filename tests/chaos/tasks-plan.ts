import type { Random } from './random.ts';

/** A coding task as it is planned: what the practice agent is told, and what must be there when it is over. */
export interface Plan {
  /** unique in the run; names of its own files begin with it */
  name: string;
  workspace: string;
  goal: string;
  /** how it is to end; one that is cancelled may be done before the word arrives */
  end: 'completed' | 'failed' | 'cancelled';
  asks: Ask[];
  /** what it does to files, in the order of its clauses */
  effects: Effect[];
  /** ms from its creation to the word "stop"; null: nobody says it */
  stopAfterMs: number | null;
  /** ms from its making to the word "pause", and from there to "resume" */
  pause: { afterMs: number; forMs: number } | null;
}

export interface Ask {
  question: string;
  options: readonly [string, string];
  /** what the person says, and what the agent must hear of it */
  said: string;
  heard: string;
  /** ms that the person thinks about it; the container of the question may be gone by then */
  delayMs: number;
}

/**
 * `line`: stands in the file exactly once. `ran`: a command of the agent, which adds the token and the step of its
 * container; an agent that dies in the middle of a command runs it again.
 */
export type Effect =
  | { kind: 'line'; file: string; text: string }
  | { kind: 'ran'; file: string; token: string; command: string };

/** Workspaces whose tasks all end well share this file: what is appended to it is in the order of the tasks. */
export const SHARED = 'shared.txt';

/** Tells the number of the step whose container it runs in. */
const STEP = `grep -o '"step":[0-9]*' /run/fetch/spec.json`;

export interface Planning {
  tasks: number;
  workspaces: readonly string[];
  /** ms after which the container of a question is ended */
  holdMs: number;
}

/** The tasks of a run, in the order of their making. The first third of the workspaces has only tasks that end well. */
export function planTasks(random: Random, { tasks, workspaces, holdMs }: Planning): Plan[] {
  const peaceful = workspaces.slice(0, Math.ceil(workspaces.length / 3));
  return Array.from({ length: tasks }, (_, at) => {
    const share = random.next();
    const end = share < 0.72 ? 'completed' : share < 0.86 ? 'cancelled' : 'failed';
    const workspace = end === 'completed' ? random.pick(workspaces) : random.pick(workspaces.slice(peaceful.length));
    return planTask(random, {
      name: `t${String(at + 1).padStart(2, '0')}`,
      workspace,
      end,
      shared: peaceful.includes(workspace),
      holdMs,
    });
  });
}

function planTask(
  random: Random,
  given: Pick<Plan, 'name' | 'workspace' | 'end'> & { shared: boolean; holdMs: number },
): Plan {
  const { name, end, shared, holdMs, workspace } = given;
  const clauses: string[] = [];
  const asks: Ask[] = [];
  const effects: Effect[] = [];
  const own = `${name}.txt`;
  const line = (file: string, text: string, written = text) => {
    clauses.push(`append ${file} ${written}`);
    effects.push({ kind: 'line', file, text });
  };
  line(own, `${name} begins`);
  if (shared) line(SHARED, `${name} was here`);
  for (let count = random.between(3, 5); count > 0; count -= 1) {
    const token = `${name}.${clauses.length}`;
    switch (random.pick(['line', 'line', 'file', 'run', 'run', 'wait', 'wait', 'ask'] as const)) {
      case 'line':
        line(own, `${token} is said once`);
        break;
      case 'file':
        clauses.push(`write ${token}.md ${token} is whole`);
        effects.push({ kind: 'line', file: `${token}.md`, text: `${token} is whole` });
        break;
      case 'run': {
        // a single write at its end, after long enough to be killed in the middle
        const command = `sleep 0.${random.between(2, 9)} && echo "${token} $(${STEP})" >> ${name}-ledger.txt`;
        clauses.push(`run ${command}`);
        effects.push({ kind: 'ran', file: `${name}-ledger.txt`, token, command });
        break;
      }
      case 'wait':
        clauses.push(`wait ${random.between(1, 6)}`);
        break;
      case 'ask': {
        if (asks.length === 2) break;
        const options = ['red', 'green'] as const;
        const said = random.pick(['1', '2', `something else for ${token}`]);
        const heard = said === '1' ? options[0] : said === '2' ? options[1] : said;
        const question = `Which colour for ${token}?`;
        asks.push({ question, options, said, heard, delayMs: random.between(0, 3 * holdMs) });
        clauses.push(`ask ${question} | ${options.join(' | ')}`);
        line(own, `${token} is ${heard}`, `${token} is {answer}`);
        break;
      }
    }
  }
  // so that the word comes while it works
  if (end === 'cancelled') clauses.push(`wait ${random.between(4, 6)}`);
  line(own, `${name} ends`);
  if (end === 'failed') clauses.push(`fail ${name} was told to`);
  const stopAfterMs = end === 'cancelled' ? random.between(500, 12_000) : null;
  const pause =
    end === 'completed' && random.next() < 0.15
      ? { afterMs: random.between(500, 8_000), forMs: random.between(500, 4_000) }
      : null;
  return { name, workspace, goal: clauses.join('; '), end, asks, effects, stopAfterMs, pause };
}
