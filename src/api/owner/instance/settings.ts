import { z } from 'zod';
import { changeSettings, effectiveSettings, SettingError, shownValue } from '../../../adapters/settings-file.ts';
import { type Config, ConfigError, configOfNextStart, needsStop, settings, subjectOf } from '../../../config.ts';
import type { OwnerSettings, SettingsChanged, SettingView } from '../../../contracts/owner.ts';
import { isSecret } from '../../../domain/settings/shapes.ts';
import { appendAudit } from '../../../store/home/audit-log.ts';
import { ApiError } from '../../errors/errors.ts';
import type { Fields } from '../../http/endpoint.ts';
import { endpoint, type RuntimeDeps } from '../../runtime/shared/endpoint.ts';
import { doing } from '../shared.ts';

const setting = z
  .object({
    name: z.string(),
    group: z.string(),
    description: z.string(),
    value: z.string().nullable().describe('A secret is ********'),
    default: z.string().nullable(),
    source: z.enum(['flag', 'environment', 'file', 'default']),
    secret: z.boolean(),
    live: z.boolean().describe('A change holds within a second; else after a restart'),
    needs_stop: z.boolean().describe('A restart of the roles is not enough'),
    choices: z.array(z.string()).nullable(),
    fixed: z.boolean().describe('A flag or the environment sets it, and wins over the file'),
  } satisfies Fields<SettingView>)
  .meta({ id: 'OwnerSetting' });

const names = z.array(z.string());

export const getSettings = endpoint({
  method: 'GET',
  path: '/v1/owner/settings',
  summary: 'Every setting, as the next start has it',
  answer: {
    schema: z
      .object({
        settings: z.array(setting),
        restart: names,
        restartable: z.boolean(),
        file: z.string(),
        problem: z.string().nullable(),
      } satisfies Fields<OwnerSettings>)
      .meta({ id: 'OwnerSettings' }),
    what: 'In the order of the docs.',
  },
  handle: async (_, deps) => {
    const { restart, problem } = pending(deps);
    return {
      settings: viewsOf(deps.config),
      restart,
      restartable: deps.instance.restart !== null,
      file: `${deps.config.FETCH_HOME}/.env`,
      problem,
    };
  },
});

export const patchSettings = endpoint({
  method: 'PATCH',
  path: '/v1/owner/settings',
  summary: 'Change settings in FETCH_HOME/.env, all of them or none',
  body: z
    .object({ settings: z.record(z.string(), z.string().nullable()).describe('null gives back the default') })
    .meta({ id: 'SettingsChange', examples: [{ settings: { FETCH_MAX_DAY_USD: '10' } }] }),
  answer: {
    schema: z
      .object({ updated: names, restart: names, settings: z.array(setting) } satisfies Fields<SettingsChanged>)
      .meta({ id: 'SettingsChanged' }),
    what: 'What holds now, and what holds after a restart.',
  },
  refusals: { 400: 'A setting is wrong, and nothing was changed; the message names each.' },
  handle: async ({ body }, { config, reload, store }) => {
    try {
      const { updated, restart } = changeSettings(config, body.settings, reload);
      const changed = Object.keys(body.settings);
      if (changed.length > 0)
        await appendAudit(store.db, 'settings changed', { role: 'client', channel: 'api' }, { names: changed });
      return { updated, restart, settings: viewsOf(config) };
    } catch (error) {
      throw error instanceof SettingError ? new ApiError(400, error.message) : error;
    }
  },
});

export const postRestart = endpoint({
  method: 'POST',
  path: '/v1/owner/restart',
  summary: 'Start all roles again, with the settings of now',
  answer: doing('They stop once their steps have ended, and start again. This port answers again within seconds.'),
  refusals: {
    400: 'The settings have a mistake, so nothing stops.',
    409: 'Nothing supervises these roles.',
  },
  handle: async (_, { config, instance, store }) => {
    try {
      configOfNextStart(config);
    } catch (error) {
      throw error instanceof ConfigError ? new ApiError(400, error.message) : error;
    }
    if (!instance.restart)
      throw new ApiError(409, 'These roles run one by one: start them again where they were started.');
    await appendAudit(store.db, 'restart asked', { role: 'client', channel: 'api' }, {});
    await instance.restart();
    return { message: 'Fetch is starting again. Work goes on where it was.' };
  },
});

/** As `fetch config` has them: what the next start would use. A file with a mistake in it changes nothing. */
const viewsOf = (config: Config): SettingView[] =>
  effectiveSettings(nextOf(config)).map(({ name, value, source, live }) => ({
    name,
    group: subjectOf(name),
    description: settings[name].description ?? '',
    value,
    default: shownValue(name, settings[name].safeParse(undefined).data),
    source,
    secret: isSecret(settings[name]),
    live,
    needs_stop: needsStop(name),
    choices: choicesOf(settings[name]),
    fixed: source === 'flag' || source === 'environment',
  }));

function nextOf(config: Config): Config {
  try {
    return configOfNextStart(config);
  } catch (error) {
    if (error instanceof ConfigError) return config;
    throw error;
  }
}

function choicesOf(schema: z.ZodType): string[] | null {
  const json = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as { enum?: unknown[]; type?: string };
  return json.enum?.map(String) ?? null;
}

/** Settings that wait for a restart, and mistakes in the file. */
function pending({ reload }: Pick<RuntimeDeps, 'reload'>): { restart: string[]; problem: string | null } {
  try {
    return { restart: reload().restart, problem: null };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { restart: [], problem: error.message };
  }
}
