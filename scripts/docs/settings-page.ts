import { hasModel } from '../../kennel/agents/registry.ts';
import { settings } from '../../src/config.ts';
import { AGENT_NAMES } from '../../src/contracts/kennel.ts';
import { chatSettings } from '../../src/domain/settings/chat.ts';
import { kennelSettings } from '../../src/domain/settings/kennel.ts';
import { isListed } from '../../src/domain/settings/listed.ts';
import { modelSettings, speechSettings } from '../../src/domain/settings/model.ts';
import { enablesAgent, ORIGINAL_NAMES } from '../../src/domain/settings/original-names.ts';
import { serversSettings } from '../../src/domain/settings/servers.ts';
import { isLive } from '../../src/domain/settings/shapes.ts';
import { tracingSettings } from '../../src/domain/settings/tracing.ts';
import { telegramSettings } from '../../src/domain/telegram/settings.ts';
import { whatsappSettings } from '../../src/domain/whatsapp/settings.ts';
import { table } from './page.ts';

/** docs/settings.md and the tables of settings in other pages: the listed settings as they are declared, by purpose. */

interface Setting {
  name: string;
  /** as one would write it in a `.env` file; undefined when the setting has none */
  fallback: string | undefined;
  meaning: string;
}

/** FETCH_HOME is required by the schema, because its default depends on the person's home folder. */
const HOME_DEFAULT = '~/.fetch';

const declared = (): Setting[] =>
  Object.entries(settings).map(([name, schema]) => {
    const parsed = name === 'FETCH_HOME' ? HOME_DEFAULT : schema.safeParse(undefined).data;
    const fallback = parsed === undefined || parsed === '' ? undefined : String(parsed);
    return { name, fallback, meaning: schema.description ?? '' };
  });

/** Descriptions of the settings that only tests use start with these words. */
const FOR_TESTS = 'For tests: ';
const isForTests = ({ meaning }: Setting): boolean => meaning.startsWith(FOR_TESTS);

/** What people may want to set. */
export const listSettings = (): Setting[] => declared().filter(({ name }) => isListed(name));

/** What most people need, in the order in which they need it. */
const ESSENTIAL = [
  'OPENAI_API_KEY',
  'OPENAI_BASE_URL',
  'AGENT_MODEL',
  'ANTHROPIC_API_KEY',
  'GH_TOKEN',
  'FETCH_TIME_ZONE',
  'FETCH_AUTONOMY',
  'FETCH_MAX_DAY_USD',
  'FETCH_MAX_MONTH_USD',
  'FETCH_SEARXNG_URL',
  'FETCH_BACKUP_FOLDER',
  'FETCH_HOME',
] satisfies Array<keyof typeof settings>;

const isEssential = ({ name }: Setting): boolean => ESSENTIAL.some((each) => each === name);

const inShape =
  (shape: object) =>
  (name: string): boolean =>
    Object.hasOwn(shape, name);
/** A setting belongs to the first group that takes it. */
const GROUPS: ReadonlyArray<readonly [title: string, takes: (name: string) => boolean]> = [
  ['Model', inShape(modelSettings)],
  ['Budgets', (name) => /^FETCH_(TASK_)?MAX_(?!HISTORY|LOG)/.test(name)],
  ['Chats', inShape(chatSettings)],
  ['WhatsApp', inShape(whatsappSettings)],
  ['Telegram', inShape(telegramSettings)],
  ['Voice notes', inShape(speechSettings)],
  ['Coding tasks, browser and GitHub', inShape(kennelSettings)],
  ['Backups', (name) => name.startsWith('FETCH_BACKUP_')],
  ['Servers of your own', inShape(serversSettings)],
  ['Traces', inShape(tracingSettings)],
  ['This installation', () => true],
];

/** Follows the name of a setting that applies without a restart. */
const LIVE = '\\*';

const rowsOf = (list: readonly Setting[], marked = false): string =>
  table(
    ['setting', 'default', 'meaning'],
    list.map(({ name, fallback, meaning }) => [
      `\`${name}\`${marked && isLive(settings[name as keyof typeof settings]) ? LIVE : ''}`,
      fallback === undefined ? '' : `\`${fallback}\``,
      meaning.startsWith(FOR_TESTS) ? meaning.slice(FOR_TESTS.length) : meaning,
    ]),
  );

export const essentialTable = (): string => {
  const all = new Map(listSettings().map((setting) => [setting.name, setting]));
  return rowsOf(ESSENTIAL.map((name) => all.get(name)!));
};

export const testsTable = (): string => rowsOf(declared().filter(isForTests));

const HEAD = `# Settings

<!-- Written by "npm run docs" from the declarations in src/domain/settings. Do not edit. -->

Set one with \`fetch config set NAME VALUE\`, on the page under Settings, or as a line of \`FETCH_HOME/.env\`. \`fetch config\` shows each setting with its value and its source. An empty value restores the default. A star (${LIVE}) means [without a restart](#without-a-restart).

- A flag wins over the environment, the environment over \`FETCH_HOME/.env\`, and that file over the default.
- A secret may be in a file of its own: \`OPENAI_API_KEY_FILE=/path\` stands for \`OPENAI_API_KEY\`. Every key, every token and \`DATABASE_URL\` has such a name.
- \`FETCH_HOME\` is read only from the environment or \`--home\`.
- A wrong value anywhere in the file changes nothing. The log says what is wrong.
- [.env.example](../.env.example) is a template of the file.

The README lists [the twelve that most people need](../README.md#settings). The models of coding agents are on [their page](coding-tasks.md#agents), TLS to Temporal is with [servers](server.md#when-something-is-wrong). Settings that became constants still count where they are set, and the start says so.`;

export function settingsPage(): string {
  const left = listSettings();
  const groups = GROUPS.map(([title, takes]) => {
    const group = left.filter(({ name }) => takes(name));
    for (const setting of group) left.splice(left.indexOf(setting), 1);
    const [first, then] = [group.filter(isEssential), group.filter((setting) => !isEssential(setting))];
    return `## ${title}\n\n${rowsOf([...first, ...then], true)}`;
  });
  return `${[HEAD, ...groups, WITHOUT_RESTART, fromTheOriginal()].join('\n\n')}\n`;
}

const WITHOUT_RESTART = `## Without a restart

Settings with a star (${LIVE}) apply within a second after the file changed, or at once after \`POST /api/config/reload\`. All others wait for the next start, and the log and the page name them.

A setting counts at its next use: \`FETCH_AUTONOMY\` is that of new chats, and \`FETCH_TASK_HOURS\` that of new tasks.`;

const ofHere = (name: string): string =>
  isListed(name) ? `\`${name}\`` : declared().find((setting) => setting.name === name)!.meaning;

/** What became of the variables of the original that have another name here. */
function fromTheOriginal(): string {
  const names = table(
    ['name in Fetch 0.0.94', 'here', 'its value'],
    [
      ...Object.entries(ORIGINAL_NAMES).map(([name, { is, meaning }]) => [`\`${name}\``, ofHere(is), meaning]),
      [
        AGENT_NAMES.filter(hasModel)
          .map((agent) => `\`${enablesAgent(agent)}\``)
          .join(', '),
        '`FETCH_KENNEL_AGENTS`',
        '`true` for each that may be used; one that is set turns off those that are not',
      ],
    ],
  );
  return `## Names of Fetch 0.0.94

Variables of the same name keep their meaning. These count where the setting here is unset. All others are ignored, and a warning at the start names those that begin with \`FETCH_\`.

${names}`;
}
