import {
  AGENT_FOLDER,
  FAILURES_OPT_IN,
  failureByError,
  type Profile,
  type ProfileContext,
  program,
  retries,
  sessionFailure,
} from '../../runner/profile/profile.ts';

/** Codex behind its ACP adapter. It speaks the Responses API only. */
export const profile: Profile = {
  versionFile: `${AGENT_FOLDER}/cli/node_modules/@openai/codex/package.json`,
  login: '.codex/auth.json',
  resume: 'resume',
  clientMeta: FAILURES_OPT_IN,

  command: (context) => ({
    argv: [process.execPath, program(context, 'codex-acp')],
    env: {
      CODEX_PATH: program(context, 'codex'),
      CODEX_HOME: `${context.home}/.codex`,
      FETCH_MODEL_KEY: context.login ? null : context.dummyKey,
      MODEL_PROVIDER: context.login ? null : 'fetch',
      NO_BROWSER: '1',
      // after each turn it asks the model what a person could say next, with the whole conversation
      CODEX_ACP_PROMPT_SUGGESTIONS: 'false',
      INITIAL_AGENT_MODE: context.permissions === 'run' ? 'agent-full-access' : 'read-only',
    },
    files: [
      { path: '.codex/config.toml', content: config(context) },
      { path: '.codex/rules/fetch.rules', content: context.permissions === 'ask' ? rules : '' },
    ],
  }),

  mode: () => null,
  // its mode "read-only" would not do: what it is told there of its sandbox stays in its session, and is wrong when it
  // works
  planMode: { configId: 'collaboration_mode', plan: 'plan', work: 'default' },
  failure: (turn) => sessionFailure(turn) ?? failureByError(turn),
  // it answers at once, and leaves a running command alone until its process ends
  afterCancel: 'at-once',
};

const config = (context: ProfileContext): string => `\
${context.model ? `model = ${JSON.stringify(context.model)}\n` : ''}${context.login ? 'cli_auth_credentials_store = "file"' : 'model_provider = "fetch"'}
check_for_update_on_startup = false
${context.permissions === 'ask' ? `developer_instructions = ${JSON.stringify(HINT)}\n` : ''}
[analytics]
enabled = false

[features]
# they look things up at github.com and chatgpt.com
plugins = false
apps = false
${context.login ? '' : provider(context)}`;

const provider = (context: ProfileContext): string => `
[model_providers.fetch]
name = "fetch"
base_url = "${context.modelBase}/openai/v1"
env_key = "FETCH_MODEL_KEY"
wire_api = "responses"
request_max_retries = ${retries(context)}
stream_max_retries = ${retries(context)}
stream_idle_timeout_ms = 600000
supports_websockets = false
`;

/**
 * Its own sandbox cannot start inside a container, so whatever it may do unasked only inside of it fails, and is asked
 * for when it tries again with "escalated" rights. What can do nothing but read is let through beforehand; `rg`, `sed`
 * and `git diff` can do more.
 */
const READERS = ['cat', 'cut', 'du', 'grep', 'head', 'ls', 'nl', 'pwd', 'stat', 'tail', 'wc', 'which'];
const rules = `\
prefix_rule(pattern=[${JSON.stringify(READERS)}], decision="allow")
prefix_rule(pattern=["git", ["ls-files", "rev-parse", "status"]], decision="allow")
`;
const HINT = `The sandbox cannot start in this container. ${READERS.join(', ')} run as they are; ask for escalated permissions right away for every other command.`;
