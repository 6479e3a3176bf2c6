import { z } from 'zod';
import { factsOf, isAgent } from '../../../../kennel/agents/registry.ts';
import type { OwnerAgents, OwnerBackups, OwnerDoctor, OwnerLogs, OwnerTemporal } from '../../../contracts/owner.ts';
import { listHosts } from '../../../store/kennel/hosts.ts';
import { ApiError } from '../../errors/errors.ts';
import { count, type Fields, time } from '../../http/endpoint.ts';
import { whole } from '../../http/request.ts';
import { endpoint } from '../../runtime/shared/endpoint.ts';

/** How the instance is. */

const USUAL_LINES = 200;
const MOST_LINES = 1_000;

const agents = z
  .object({
    hosts: z.array(
      z.object({
        host: z.string(),
        ready: z.boolean(),
        problem: z.string().nullable(),
        slots: count(),
        alive: z.boolean(),
        seen_at: time(),
        agents: z.array(
          z.object({ name: z.string(), label: z.string(), ready: z.boolean(), why: z.string().nullable() }),
        ),
      }),
    ),
  } satisfies Fields<OwnerAgents>)
  .meta({ id: 'OwnerAgents' });

export const getAgents = endpoint({
  method: 'GET',
  path: '/v1/owner/agents',
  summary: 'Which coding agents are ready on which host',
  answer: { schema: agents, what: 'The hosts, the latest seen first.' },
  handle: async (_, { store: { db } }) => ({
    hosts: (await listHosts(db)).map(({ host, ready, problem, slots, alive, seen_at, harnesses }) => ({
      ...{ host, ready, problem, slots, alive },
      seen_at: seen_at.toISOString(),
      agents: harnesses.map((each) => ({
        name: each.name,
        label: isAgent(each.name) ? factsOf(each.name).label : each.name,
        ready: each.ready,
        why: each.why,
      })),
    })),
  }),
});

const backups = z
  .object({
    folder: z.string().nullable(),
    nightly: z.boolean(),
    backups: z.array(z.object({ name: z.string(), at: time(), bytes: count() })),
    problem: z.string().nullable(),
  } satisfies Fields<OwnerBackups>)
  .meta({ id: 'OwnerBackups' });

export const getBackups = endpoint({
  method: 'GET',
  path: '/v1/owner/backups',
  summary: 'The nightly backups that are kept',
  answer: { schema: backups, what: 'The latest first.' },
  handle: async (_, { instance }) => instance.backups(),
});

const logs = z
  .object({
    lines: z.array(z.object({ at: time(), role: z.string(), level: z.string(), text: z.string() })),
    next: z.string(),
    roles: z.array(z.string()),
  } satisfies Fields<OwnerLogs>)
  .meta({ id: 'OwnerLogs' });

/** As `LogName` of the instance. */
const ROLES = ['fetch', 'temporal', 'postgres', 'worker', 'gateway', 'api', 'kennel', 'roles'] as const;

export const getLogs = endpoint({
  method: 'GET',
  path: '/v1/owner/logs',
  summary: 'The end of the logs, or what follows',
  query: {
    after: z.string().max(1_000).describe('`next` of an earlier answer'),
    role: z.enum(ROLES),
    limit: whole.describe(`Lines of the end: ${USUAL_LINES} when left out, ${MOST_LINES} at most`),
  },
  answer: { schema: logs, what: 'Lines by time.' },
  handle: async ({ query: { after, role, limit = USUAL_LINES } }, { instance }) => {
    try {
      return instance.logs({
        after: after ?? null,
        role: role ?? null,
        limit: Math.min(Math.max(1, limit), MOST_LINES),
      });
    } catch (error) {
      throw error instanceof RangeError ? new ApiError(400, error.message) : error;
    }
  },
});

const doctor = z
  .object({
    ok: z.boolean(),
    findings: z.array(
      z.object({
        name: z.string(),
        state: z.enum(['ok', 'warning', 'missing']),
        version: z.string().nullable(),
        detail: z.string(),
        mend: z.string().nullable().describe('What to do'),
      }),
    ),
  } satisfies Fields<OwnerDoctor>)
  .meta({ id: 'OwnerDoctor' });

export const getDoctor = endpoint({
  method: 'GET',
  path: '/v1/owner/doctor',
  summary: 'Try everything that is needed; it takes some seconds',
  answer: { schema: doctor, what: 'What `fetch doctor` finds.' },
  handle: async (_, { instance }) => await instance.diagnose(),
});

export const getTemporal = endpoint({
  method: 'GET',
  path: '/v1/owner/temporal',
  summary: 'The link that lets a browser into the Temporal Web UI',
  query: { workflow: z.string().max(1_000).describe('Id of a workflow') },
  answer: {
    schema: z
      .object({ url: z.string().nullable(), why: z.string().nullable() } satisfies Fields<OwnerTemporal>)
      .meta({ id: 'OwnerTemporal' }),
    what: 'The link, or why there is none. It holds a token: open it, and do not show it.',
  },
  handle: async ({ ctx, query }, { instance }) => {
    ctx.set('Cache-Control', 'no-store');
    return await instance.temporalUi(query.workflow ?? null);
  },
});
