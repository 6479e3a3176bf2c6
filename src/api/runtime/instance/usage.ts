import { z } from 'zod';
import { USAGE_GROUPS, type UsageGroup, usageReport } from '../../../store/turns/steps/usage.ts';
import { ApiError, badTime, SINCE_AFTER_UNTIL, unsupportedGroup } from '../../errors/errors.ts';
import { endpoint } from '../shared/endpoint.ts';

const count = () => z.int().nonnegative();
const used = {
  input_tokens: count(),
  output_tokens: count(),
  cached_tokens: count().describe('The part of the input that came from the cache of the endpoint'),
  reasoning_tokens: count().describe('The part of the output that was thoughts'),
  cost_usd: z.number().nonnegative(),
  turns: count(),
};
const time = () => z.iso.datetime().meta({ pattern: undefined }).nullable();
const RFC_3339 = z.iso.datetime({ offset: true });

export const getUsage = endpoint({
  method: 'GET',
  path: '/v1/usage',
  summary: 'What models have used',
  query: {
    since: z.string().describe('RFC 3339; of turns that were created then or later'),
    until: z.string().describe('RFC 3339; of turns that were created then or earlier'),
    group_by: z.string().describe(`One of ${USAGE_GROUPS.join(', ')}; day when left out`),
  },
  answer: {
    schema: z
      .object({
        since: time(),
        until: time(),
        group_by: z.enum(USAGE_GROUPS),
        totals: z.object(used),
        buckets: z.array(
          z.object({
            key: z.string().describe('YYYY-MM-DD in UTC, a model, a provider, or the id of a thread'),
            ...used,
          }),
        ),
      })
      .meta({ id: 'UsageReport' }),
    what: 'Tokens and money, in all and by group, in the order of the keys.',
  },
  refusals: { 400: 'A time or the group is not understood.' },
  handle: async ({ query }, { store }) => {
    const since = timeOf('since', query.since);
    const until = timeOf('until', query.until);
    if (since && until && since > until) throw new ApiError(400, SINCE_AFTER_UNTIL);
    const group = groupOf(query.group_by ?? 'day');
    const report = await usageReport(store.db, { since, until, group });
    return { since: since?.toISOString() ?? null, until: until?.toISOString() ?? null, group_by: group, ...report };
  },
});

/** @throws ApiError 400 */
function timeOf(field: string, text: string | undefined): Date | null {
  if (text === undefined) return null;
  if (!RFC_3339.safeParse(text).success) throw badTime(field, text);
  return new Date(text);
}

/** @throws ApiError 400 */
function groupOf(text: string): UsageGroup {
  const group = USAGE_GROUPS.find((known) => known === text);
  if (!group) throw unsupportedGroup(text, USAGE_GROUPS);
  return group;
}
