import { readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import {
  AGENT_FOLDER,
  failureByError,
  type Profile,
  type ProfileContext,
  program,
  retries,
} from '../../runner/profile/profile.ts';

const settings = (context: ProfileContext) => ({
  // the address alone would make it a "gateway", which it does not take without a terminal
  security: {
    auth: { selectedType: context.login ? 'oauth-personal' : 'gemini-api-key' },
    folderTrust: { enabled: false },
  },
  privacy: { usageStatisticsEnabled: false },
  telemetry: { enabled: false },
  // in a client without a dialog for plans it agrees to its own plan
  tools: { exclude: ['exit_plan_mode'] },
  general: {
    enableAutoUpdate: false,
    enableAutoUpdateNotification: false,
    // its clean-up takes a session that was just begun or resumed for a broken one, and deletes it
    sessionRetention: { enabled: false },
    maxAttempts: retries(context) + 1,
  },
});

interface Meta {
  quota?: { token_count?: { input_tokens: number; output_tokens: number } };
}

/** Gemini CLI, which speaks ACP itself. */
export const profile: Profile = {
  versionFile: `${AGENT_FOLDER}/cli/node_modules/@google/gemini-cli/package.json`,
  login: '.gemini/oauth_creds.json',
  resume: 'load',

  command: (context) => ({
    argv: [
      process.execPath,
      program(context, 'gemini'),
      '--acp',
      '--skip-trust',
      ...(context.model ? ['-m', context.model] : []),
    ],
    env: {
      GEMINI_API_KEY: context.login ? null : context.dummyKey,
      GOOGLE_GEMINI_BASE_URL: context.login ? null : `${context.modelBase}/gemini`,
      // a log-in that is not valid any more would have it open a browser and wait
      NO_BROWSER: context.login ? 'true' : null,
      // it starts itself again otherwise, and signals reach only the first of the two
      GEMINI_CLI_NO_RELAUNCH: 'true',
      GEMINI_TELEMETRY_ENABLED: 'false',
      TERM: 'xterm-256color',
    },
    files: [{ path: '.gemini/settings.json', content: JSON.stringify(settings(context)) }],
  }),

  beforeResume: async (context, sessionId) => renameEarlier(join(context.home, '.gemini/tmp'), sessionId.slice(0, 8)),
  mode: (context) => (context.permissions === 'run' ? 'yolo' : 'default'),
  planMode: { modeId: 'plan' },
  text: (text) => (text.startsWith('[MODE_UPDATE]') ? 'nothing' : 'words'),
  failure: failureByError,
  usage: (response) => {
    const counted = (response._meta as Meta | null | undefined)?.quota?.token_count;
    return counted ? { inputTokens: counted.input_tokens, outputTokens: counted.output_tokens } : null;
  },
  afterCancel: 'wait',
};

/**
 * `session/load` begins an empty session before it looks for the old one, in a file that is named after the minute and
 * the id: within the minute in which the old one was begun, that empties it. The old file gets the name of another
 * minute.
 */
function renameEarlier(folder: string, id: string): void {
  for (const project of list(folder)) {
    const chats = join(folder, project, 'chats');
    const names = list(chats).filter((name) => name.startsWith('session-') && name.endsWith(`-${id}.jsonl`));
    let next = names.filter((name) => name.startsWith('session-2000-')).length;
    for (const name of names) {
      if (name.startsWith('session-2000-')) continue;
      renameSync(join(chats, name), join(chats, `session-2000-01-01T00-${String(next).padStart(2, '0')}-${id}.jsonl`));
      next += 1;
    }
  }
}

function list(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
