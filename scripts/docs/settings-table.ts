import { settings } from '../../src/config.ts';
import { isLive } from '../../src/domain/settings/shapes.ts';
import { table } from './page.ts';

interface Setting {
  name: string;
  /** as one would write it in a `.env` file; undefined when the setting has none */
  fallback: string | undefined;
  meaning: string;
}

/** FETCH_HOME is required by the schema, because its default depends on the person's home folder. */
const HOME_DEFAULT = '~/.fetch';

export const listSettings = (): Setting[] =>
  Object.entries(settings).map(([name, schema]) => {
    const parsed = name === 'FETCH_HOME' ? HOME_DEFAULT : schema.safeParse(undefined).data;
    const fallback = parsed === undefined || parsed === '' ? undefined : String(parsed);
    return { name, fallback, meaning: schema.description ?? '' };
  });

/** Who reads about a setting: those of tests start with these words. */
export type Audience = 'people' | 'tests';
const FOR_TESTS = 'For tests: ';

export const settingsTable = (audience: Audience): string =>
  table(
    ['setting', 'default', 'meaning'],
    listSettings()
      .filter(({ meaning }) => meaning.startsWith(FOR_TESTS) === (audience === 'tests'))
      .map(({ name, fallback, meaning }) => [
        `\`${name}\``,
        fallback === undefined ? '' : `\`${fallback}\``,
        audience === 'tests' ? meaning.slice(FOR_TESTS.length) : meaning,
      ]),
  );

/** The settings that change without a restart. */
export const liveSettings = (): string =>
  Object.entries(settings)
    .flatMap(([name, schema]) => (isLive(schema) ? [`\`${name}\``] : []))
    .join(', ');

/** The text of `.env.example`; every line is a comment, so that a copy of it changes nothing. */
export const envExample = (): string =>
  [
    '# Settings of Fetch, generated from src/config.ts by "npm run docs". Copy the lines you want to FETCH_HOME/.env (mode 0600) and uncomment them.',
    '# The environment wins over that file, a flag over both. FETCH_HOME itself is only read from the environment or --home.',
    ...listSettings().flatMap(({ name, fallback, meaning }) => ['', `# ${meaning}`, `# ${name}=${fallback ?? ''}`]),
    '',
  ].join('\n');
