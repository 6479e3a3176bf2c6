import { z } from 'zod';
import { ConfigError } from '../../config.ts';
import { appendAudit } from '../../store/home/audit-log.ts';
import { ApiError } from '../errors/errors.ts';
import { endpoint } from './endpoint.ts';

const names = z.array(z.string());
const reloaded = z
  .object({
    success: z.literal(true),
    updatedKeys: names.describe('Settings that have another value from now on'),
    restartKeys: names.describe('Settings that were changed, and have another value from the next start on'),
    message: z.string(),
  })
  .meta({ id: 'Reloaded' });

export const postReload = endpoint({
  method: 'POST',
  path: '/api/config/reload',
  summary: 'Apply what was changed in FETCH_HOME/.env, all of it or nothing',
  answer: { schema: reloaded, what: 'What was changed here. Other processes of the instance follow within a second.' },
  refusals: { 400: 'A setting is wrong, and nothing was changed; the message names each.' },
  handle: async (_, { reload, store }) => {
    try {
      const { updated, restart } = reload();
      if (updated.length + restart.length > 0)
        await appendAudit(store.db, 'settings changed', { role: 'client' }, { names: [...updated, ...restart] });
      const later =
        restart.length > 0 ? `; ${restart.join(', ')} ${restart.length === 1 ? 'needs' : 'need'} a restart` : '';
      return {
        success: true as const,
        updatedKeys: updated,
        restartKeys: restart,
        message: `${updated.length} key(s) updated${later}`,
      };
    } catch (error) {
      throw error instanceof ConfigError ? new ApiError(400, error.message) : error;
    }
  },
});
