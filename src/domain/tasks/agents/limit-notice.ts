import { factsOf, hasModel } from '../../../../kennel/agents/registry.ts';
import type { AgentName } from '../../../contracts/kennel.ts';
import type { ModelLimit } from '../../../contracts/task.ts';
import { english, type Say } from '../../texts/say.ts';
import { clockTime } from '../../time.ts';
import { loginsOf } from './agent-settings.ts';
import type { Readiness } from './agents.ts';

/** Messages about a task that waits for its model. */

interface Limited {
  harness: AgentName;
  workspace: string;
}

const opens = ({ opensAt }: ModelLimit, zone: string): string => clockTime(new Date(opensAt), zone);

/** For `status` and the Web UI. */
export function limitStatus({ harness }: Pick<Limited, 'harness'>, limit: ModelLimit, zone: string): string {
  const { label } = factsOf(harness);
  if (limit.kind === 'budget') return `waits for the new day of its budget, ${opens(limit, zone)}`;
  if (limit.kind === 'overload')
    return `waits for the model of ${label}, which is overloaded; asks again at ${opens(limit, zone)}`;
  return limit.named
    ? `waits for the limit of ${label}, which ends at ${opens(limit, zone)}`
    : `waits for the limit of ${label}; asks again at ${opens(limit, zone)}`;
}

/** The one message about a wait. `others`: agents that could go on instead. */
export function limitNotice(
  { harness, workspace }: Limited,
  limit: ModelLimit,
  { zone, others }: { zone: string; others: AgentName[] },
  say: Say = english,
): string {
  const { label } = factsOf(harness);
  const time = opens(limit, zone);
  const [other] = others;
  const ways = other ? say('limit.other', { name: other, agent: factsOf(other).label }) : say('limit.ways');
  if (limit.kind === 'budget') return say('limit.budget', { workspace, time });
  const text = limit.kind === 'overload' ? 'limit.overload' : limit.named ? 'limit.named' : 'limit.unnamed';
  return say(text, { workspace, agent: label, time, ways });
}

/** Ready agents that use another account than this one, the preferred one first. */
export function otherAgents(
  { harness }: Pick<Limited, 'harness'>,
  ready: readonly Readiness[],
  { FETCH_KENNEL_LOGINS }: { FETCH_KENNEL_LOGINS: string },
): AgentName[] {
  const logins = loginsOf(FETCH_KENNEL_LOGINS);
  const accountOf = (name: AgentName): string =>
    logins.has(name) ? `login ${name}` : (factsOf(name).model?.protocol ?? '');
  return ready
    .filter(({ name, ready: isReady }) => isReady && hasModel(name) && accountOf(name) !== accountOf(harness))
    .map(({ name }) => name);
}
