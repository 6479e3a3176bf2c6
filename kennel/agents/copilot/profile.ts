import { AGENT_FOLDER, failureByError, type Profile, program } from '../../runner/profile/profile.ts';

/** Its modes are named by addresses. */
const MODES = 'https://agentclientprotocol.com/protocol/session-modes';

/**
 * GitHub Copilot CLI with a model endpoint of one's own, without a GitHub account; or with a log-in of GitHub's, and
 * GitHub's models.
 */
export const profile: Profile = {
  versionFile: `${AGENT_FOLDER}/cli/node_modules/@github/copilot/package.json`,
  login: '.copilot/config.json',
  resume: 'load',

  command: (context) => ({
    argv: [
      program(context, 'copilot'),
      '--acp',
      '--no-color',
      ...(context.permissions === 'run' ? ['--allow-all'] : []),
    ],
    env: {
      COPILOT_HOME: `${context.home}/.copilot`,
      // unpacked when the image was built; read only from here on
      XDG_CACHE_HOME: context.env.FETCH_AGENT ? null : `${AGENT_FOLDER}/cache`,
      COPILOT_AUTO_UPDATE: 'false',
      COPILOT_OFFLINE: context.login ? null : 'true',
      COPILOT_PROVIDER_TYPE: context.login ? null : 'openai',
      COPILOT_PROVIDER_BASE_URL: context.login ? null : `${context.modelBase}/openai/v1`,
      COPILOT_PROVIDER_API_KEY: context.login ? null : context.dummyKey,
      COPILOT_MODEL: context.model,
    },
    files: [],
  }),

  mode: () => null,
  planMode: { modeId: `${MODES}#plan`, work: `${MODES}#agent` },
  // a failed model call ends the turn like a good one; only its own log tells them apart
  file: (context, sessionId) => `${context.home}/.copilot/session-state/${sessionId}/events.jsonl`,
  watchFile: (line) => {
    if (line.type !== 'session.error') return null;
    const data = (line.data ?? {}) as { errorType?: string; message?: string; statusCode?: number };
    return `${data.message ?? 'The agent reported an error.'}${data.statusCode ? ` (${data.statusCode})` : ''}`;
  },
  text: (text) => (/^(Info|Warning|Error): /.test(text) ? 'note' : 'words'),
  failure: (turn) => {
    const failed = failureByError(turn) ?? turn.seen;
    if (failed) return failed;
    // a fault at its start is told by nothing but that no model call was made
    if (
      turn.response?.stopReason === 'end_turn' &&
      !(turn.response as { usage?: unknown }).usage &&
      !turn.lastText &&
      turn.tools === 0
    )
      return 'The agent ended its turn without a model call.';
    return null;
  },
  afterCancel: 'wait',
};
