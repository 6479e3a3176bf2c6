import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  AGENT_FOLDER,
  failureByError,
  type Profile,
  type ProfileContext,
  program,
} from '../../runner/profile/profile.ts';

/** OpenCode, which speaks ACP itself. */
export const profile: Profile = {
  versionFile: `${AGENT_FOLDER}/cli/node_modules/opencode-ai/package.json`,
  login: '.local/share/opencode/auth.json',
  resume: 'resume',

  command: (context) => ({
    argv: [program(context, 'opencode'), 'acp'],
    env: {
      // wins over an opencode.json of the workspace, which a file of ours would not
      OPENCODE_CONFIG_CONTENT: JSON.stringify(config(context)),
      OPENCODE_DISABLE_AUTOUPDATE: '1',
      OPENCODE_PURE: '1',
      OPENCODE_DISABLE_MODELS_FETCH: '1',
      OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
      // some of them are what log-ins work by
      OPENCODE_DISABLE_DEFAULT_PLUGINS: context.login ? null : '1',
    },
    // it installs a package for plugins of its own at each start; with a registry that nobody serves it goes on
    // without, and no person is asked about one
    files: [{ path: '.config/opencode/.npmrc', content: 'registry=http://127.0.0.1:9/\n' }],
  }),

  mode: () => null,
  planMode: { modeId: 'plan', work: 'build' },
  failure: failureByError,
  afterCancel: 'wait',
};

/**
 * What it may use is said outright: it takes models of its maker otherwise, for side questions too, which tell them the
 * task. A log-in is an object with an entry for each provider.
 */
function config(context: ProfileContext): object {
  const decision = context.permissions === 'ask' ? 'ask' : 'allow';
  const always = {
    autoupdate: false,
    share: 'disabled',
    permission: { edit: decision, bash: decision, webfetch: decision, external_directory: decision },
  };
  // `provider/model` of what it is logged in to
  if (context.login)
    return {
      ...always,
      enabled_providers: providersOf(join(context.home, profile.login)),
      ...(context.model && { model: context.model }),
    };
  const model = context.model ?? 'default';
  return {
    ...always,
    enabled_providers: ['fetch'],
    provider: {
      fetch: {
        npm: '@ai-sdk/openai-compatible',
        options: { baseURL: `${context.modelBase}/openai/v1`, apiKey: context.dummyKey },
        models: { [model]: { limit: { context: 200_000, output: 32_000 } } },
      },
    },
    model: `fetch/${model}`,
    small_model: `fetch/${model}`,
  };
}

function providersOf(login: string): string[] {
  try {
    return Object.keys(JSON.parse(readFileSync(login, 'utf8')) as object);
  } catch {
    // it will say itself what is wrong with it
    return [];
  }
}
